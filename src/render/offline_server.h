// The API server of a rendering: what the files hold is there, what is created is kept and goes nowhere, and what is asked
// for in vain is noted. Behind it there may be a real one, of which nothing but reads of single objects is asked.
//
// Secrets are never told apart by what is created in them: every value that would be made has one and the same content.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "kube/resource.h"
#include "net/http.h"

namespace capstan::render {

class OfflineServer final : public net::Transport {
 public:
  // An object, by its kind (plural) and key.
  struct Name {
    std::string plural;
    kube::Key key;
    auto operator<=>(const Name&) const = default;
  };

  // `behind`: nullptr: nothing.
  explicit OfflineServer(net::Transport* behind) : behind_(behind) {}

  // stringData of a Secret becomes data. Objects of kinds of which nobody asks for single ones are passed over.
  void Put(json::Value object, const std::string& default_ns);

  // What was created, in that order, and the names of those that hold nothing real.
  const std::vector<json::Value>& created() const { return created_; }
  bool IsMade(const Name& name) const { return made_.contains(name); }
  void PutMade(const Name& name, json::Value object);

  // Asked for by name, and not there (nor made since). With what the server behind said, if that was no 404.
  const std::map<Name, std::string>& missing() const { return missing_; }

  async::Task<Result<net::Response>> Send(net::Request request, async::Deadline deadline) override;
  async::Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request request, async::Deadline deadline) override;

 private:
  net::Response Create(const net::Request& request, std::string_view query);
  async::Task<Result<net::Response>> Get(net::Request request, Name name, async::Deadline deadline);

  net::Transport* behind_;
  std::map<Name, json::Value> objects_;
  std::vector<json::Value> created_;
  std::set<Name> made_;
  std::map<Name, std::string> missing_;
};

}  // namespace capstan::render
