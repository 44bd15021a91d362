// What must never happen, checked at every write of the operator and after every moment of a run.
#pragma once

#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "api/controller.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "cluster.h"
#include "operator/nodeset/contract.h"

namespace capstan::sim {

class Rules {
 public:
  // Listens to the cluster's writes. REQUIRES: the cluster outlives it.
  explicit Rules(Cluster& cluster);

  // Called for each write, after it has been judged.
  std::function<void()> on_write;

  // What was broken first; nullopt: nothing.
  const std::optional<std::string>& broken() const { return broken_; }
  // Looks at what shows only afterwards.
  void Look();
  // How many writes the operator has made.
  int writes() const { return writes_; }
  // Of every write: when, what, and the answer's status.
  uint64_t fingerprint() const { return fingerprint_; }
  // Everything is as users want it, or the first thing that is not.
  std::optional<std::string> Unmatched() const;
  // What is left of a NodeSet that was deleted; nullopt: nothing but what people hold.
  std::optional<std::string> Left() const;

 private:
  void OnApiWrite(const kube::testing::ApiWrite& write);
  void OnSlurmWrite(const net::Request& request);
  const json::Value& SetBefore(const kube::testing::ApiWrite& write);
  std::optional<std::string> ApiBreach(const kube::testing::ApiWrite& write);
  bool IsBusy(const std::string& host) const;
  bool IsBusy(const kube::testing::ApiWrite& write) const;
  op::nodeset::Surroundings Around() const;
  void Created(const std::string& pod);
  void Deleted(const std::string& pod);
  void Refused(const kube::testing::ApiWrite& write);
  void Fold(std::initializer_list<std::string_view> texts);
  void Break(std::string what);

  Cluster& cluster_;
  std::optional<std::string> broken_;
  // Custom resources as they were last seen, by their resourceVersion: what the operator writes may come when they are
  // gone, or others have taken their place.
  template <class T>
  struct Seen {
    std::string version;
    T object;
    T former;
  };
  Seen<api::Controller> main_;
  Seen<api::RestApi> rest_;
  Seen<api::NodeSet> set_;
  std::map<std::string, std::string> hosts_;         // pod -> Slurm node, of pods that are or were
  std::map<std::string, std::deque<Tick>> refused_;  // what the API server refused in the last minute, by what it was
  int writes_ = 0;
  uint64_t fingerprint_ = 0;
};

}  // namespace capstan::sim
