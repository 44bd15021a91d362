// The connections of one HttpClient. Internal to net/.
#pragma once

#include <list>
#include <memory>
#include <optional>

#include "async/timer.h"
#include "net/client.h"
#include "net/http1.h"
#include "net/resolver.h"
#include "net/socket.h"

namespace capstan::net {

// A dialled connection, and what was received on it beyond the last answer.
struct Connection {
  std::unique_ptr<Socket> socket;
  std::string received;
  std::shared_ptr<const TlsMaterial> material;  // with which it was made
  Tick idle_since{};
  Tick dialled_at{};
};

// How far one exchange got; decides what its failure means.
struct Progress {
  bool sent = false;      // all of the request has left, or so much that the server may act upon it
  bool answered = false;  // at least one byte of the answer came
};

// Permission to use one more connection; returned when destroyed.
class Slot {
 public:
  Slot() = default;
  explicit Slot(std::function<void()> release) : release_(std::move(release)) {}
  Slot(Slot&& other) noexcept : release_(std::exchange(other.release_, nullptr)) {}
  Slot& operator=(Slot&& other) noexcept {
    std::swap(release_, other.release_);
    return *this;
  }
  ~Slot() {
    if (release_) release_();
  }

 private:
  std::function<void()> release_;
};

class HttpClient::Pool : public std::enable_shared_from_this<HttpClient::Pool> {
 public:
  Pool(async::Loop& loop, Options options);
  ~Pool();

  // An answer whose header is there.
  struct Exchange {
    std::unique_ptr<Connection> connection;
    std::unique_ptr<MessageParser> parser;
    MessageParser::Kind kind;
    HttpLimits limits;
    bool reusable = false;  // the server was sent the whole request
  };
  // Sends `request` and reads the answer's header; tries again as the class comment of HttpClient says.
  async::Task<Result<Exchange>> Perform(Request request, size_t body_limit, async::Deadline deadline);

  // Reads more of the answer's body into the parser. An error is kDeadline, kUnavailable or kInvalid.
  async::Task<Result<void>> ReadMore(Exchange& exchange, async::Deadline deadline);

  // Takes the connection back when another request may follow on it, else closes it.
  void Finish(Exchange exchange);

  async::Task<Result<Slot>> AcquireRequest(async::Deadline deadline);
  Result<Slot> AcquireStream();

  void CloseIdle();
  size_t dialled() const { return dialled_; }
  size_t idle() const { return idle_.size(); }
  const Options& options() const { return options_; }

 private:
  struct Waiter {
    async::Timer timer;
    bool granted = false;
  };

  // What connections are dialled with; made whole by RefreshTls.
  struct Tls {
    std::shared_ptr<const TlsMaterial> material;
    std::shared_ptr<const TlsContext> context;
    std::shared_ptr<const TlsContext> proxy_context;  // for a proxy that is reached by TLS
  };

  async::Task<Result<Exchange>> PerformOnce(const Request& request, const Secret& token, size_t body_limit,
                                            async::Deadline deadline);
  async::Task<Result<void>> Transact(Exchange& exchange, std::string_view bytes, Progress& progress,
                                     async::Deadline deadline);
  // Writes the request, and gives what is answered meanwhile to the parser. False: the server has answered that it does
  // not want the rest.
  async::Task<Result<bool>> Push(Exchange& exchange, std::string_view bytes, Progress& progress,
                                 async::Deadline deadline);
  Result<bool> Refused(Exchange& exchange);
  Result<void> Feed(Exchange& exchange);
  async::Task<Result<void>> ReadHeader(Exchange& exchange, Progress& progress, async::Deadline deadline);
  Result<bool> HasHeader(Exchange& exchange);  // of the final answer
  Result<void> RefreshTls();
  Result<Tls> MakeTls(std::shared_ptr<const TlsMaterial> material) const;
  std::unique_ptr<Connection> TakeIdle();
  async::Task<Result<std::unique_ptr<Connection>>> Dial(async::Deadline deadline);
  async::Task<Result<std::vector<Address>>> Addresses(async::Deadline deadline);
  async::Task<Result<std::unique_ptr<Socket>>> Connect(Address address, const Tls& tls, async::Deadline deadline);
  async::Task<Result<void>> PassProxy(Socket& socket, const Tls& tls, async::Deadline deadline);
  void ReleaseRequest();
  void ArmSweep();
  void Sweep();

  async::Loop& loop_;
  Options options_;
  std::string host_header_;
  Resolver resolver_;
  Tls tls_;
  std::shared_ptr<const TlsMaterial> unusable_;  // newer than tls_, but no context could be made with it
  std::list<std::unique_ptr<Connection>> idle_;  // the one used last in front
  std::optional<async::Loop::TimerId> sweep_;
  size_t requests_ = 0;
  size_t streams_ = 0;
  size_t dialled_ = 0;
  std::list<Waiter*> waiters_;
};

}  // namespace capstan::net
