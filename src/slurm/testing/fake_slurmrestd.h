// slurmrestd in front of a FakeSlurm, at the level of HTTP: what RestSource talks to in the simulator.
//
// Status codes, headers and bodies are those seen of slurmrestd 26.05, odd ones included (200 with errors for
// a node that does not exist, 200 with an empty list for "no job has changed", plain text from outside the
// API). It records what it was asked to change, and fails in the ways real ones do, when a test says so.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/secret.h"
#include "net/http.h"
#include "slurm/jwt.h"
#include "slurm/testing/fake_slurm.h"

namespace capstan::slurm::testing {

// What happens to one request.
enum class Fault : uint8_t {
  kNone,
  kRefused,      // nobody listens
  kError500,     // it fails, and nothing was done
  kErrorsIn200,  // it fails, and nothing was done, but the status says 200
  kHang,         // no answer ever; nothing was done
  kLostAnswer,   // it is done, but the connection breaks before the answer
  kLate,         // the same, and a write is done only seconds later, or just before the next one
  kCutOff,       // it is done, but only half of the answer comes
  kGarbage,      // an answer that is no JSON
};

class FakeSlurmrestd final : public net::Transport {
 public:
  struct Options {
    Duration latency = 2ms;
    Duration per_node = 0ns;                       // added to a list's latency: 250us is what slurmrestd takes
    std::vector<int> versions = {42, 43, 44, 45};  // of data parsers it has
    Duration controller_patience = 10s;            // how long a request hangs while slurmctld is away
    size_t piece = 1000;                           // bytes of one Read
    Duration late = 8s;                            // until a write of Fault::kLate is done
  };
  FakeSlurmrestd(FakeSlurm& slurm, Options options) : slurm_(slurm), options_(std::move(options)) {}
  explicit FakeSlurmrestd(FakeSlurm& slurm) : FakeSlurmrestd(slurm, Options()) {}
  ~FakeSlurmrestd() override;

  // Decides each request's fate; by default all is well.
  using Fate = std::function<Fault(const net::Request&)>;
  void SetFate(Fate fate) { fate_ = std::move(fate); }
  void SetFault(Fault fault) {
    fate_ = [fault](const net::Request&) { return fault; };
  }
  void Heal() { fate_ = nullptr; }
  void SetLatency(Duration latency) { options_.latency = latency; }

  // Tokens must be signed with this key and not expired; before the first call any token will do.
  void SetKey(Secret key) {
    key_ = std::move(key);
    token_.clear();
  }

  // Requests that would change something, in the order they came, whatever became of them.
  struct Write {
    Tick at{};
    std::string method, target, body;
    int status = 0;  // of the answer, seen by the client or not; 0: never got that far

    bool operator==(const Write&) const = default;
  };
  const std::vector<Write>& writes() const { return writes_; }

  // Requests of any kind, and those in flight now and at most.
  size_t requests() const { return requests_; }
  size_t max_in_flight() const { return max_in_flight_; }
  // How many of them asked for a target that begins so ("/slurm/v0.0.44/nodes/").
  size_t RequestsFor(std::string_view target) const;

  async::Task<Result<net::Response>> Send(net::Request request, async::Deadline deadline) override;
  async::Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request request, async::Deadline deadline) override;

 private:
  class Flight;

  async::Task<Result<net::Response>> Serve(net::Request request, Fault fault, async::Deadline deadline);
  Fault FateOf(const net::Request& request) const { return fate_ ? fate_(request) : Fault::kNone; }
  net::Response Answer(const net::Request& request);
  net::Response Route(const net::Request& request, std::string_view path);
  net::Response ListNodes(std::string_view query) const;
  net::Response ListPartitions() const;
  net::Response ListJobs(std::string_view query) const;
  net::Response JobStates(std::string_view query) const;
  net::Response OneJob(std::string_view id) const;
  net::Response SubmitJob(const std::string& body);
  net::Response UpdateJob(std::string_view id, const std::string& body);
  net::Response CancelJobs(const std::string& body);
  void DoLate();
  net::Response OneNode(const std::string& name, std::string_view query) const;
  net::Response UpdateNodes(std::vector<std::string> names, const std::string& body, std::string_view source);
  net::Response CreateNode(const std::string& body);
  net::Response DeleteNode(const std::string& name);
  net::Response WriteReservation(const std::string& body);
  net::Response Life() const;
  net::Response Statistics() const;
  bool Accepts(const net::Request& request);
  Duration LatencyOf(const net::Request& request) const;

  FakeSlurm& slurm_;
  Options options_;
  Fate fate_;
  Secret key_;
  std::string token_;  // the last that the key has signed, and what it says
  TokenClaims claims_;
  std::vector<Write> writes_;
  std::vector<net::Request> late_;  // writes that are on their way still
  std::optional<async::Loop::TimerId> late_timer_;
  std::map<std::string, size_t> asked_;
  size_t requests_ = 0, in_flight_ = 0, max_in_flight_ = 0;
};

}  // namespace capstan::slurm::testing
