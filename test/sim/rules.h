// What must never happen, checked at every write of the operator and after every moment of a run.
//
// A write is judged by the contract of the key that sent it, and by no other: the key whose action on that target is in
// flight. One that nobody has in flight, or two keys, is broken.
#pragma once

#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machines.h"
#include "operator/contract.h"
#include "plan/action.h"
#include "plan/key.h"
#include "plan/rights.h"
#include "set_story.h"
#include "site.h"

namespace capstan::sim {

// Until a watch that has gone mute is noticed, and read anew.
constexpr Duration kHealing = 200s;

class Rules {
 public:
  // Listens to the writes that `machines` and its sites are sent, and grants the operator `rights`. REQUIRES: all outlive
  // it; no site or NodeSet is added any more.
  Rules(Machines& machines, const std::vector<Site*>& sites, std::vector<plan::Right> rights);

  // What the operator has in flight; none when it begins to live.
  void Began() { flights_.clear(); }
  void Started(const plan::Key& key, const plan::Action& action);
  void Ended(const plan::Key& key, const plan::Action& action);

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
  std::optional<std::string> Left(const SetStory& set) const;

 private:
  // One action in flight, with the custom resource of its key as it was at the start.
  struct Flight {
    plan::Key key;
    std::string verb;
    const op::Contract* contract;
    Machines::Known known;
  };

  void OnApiWrite(const kube::testing::ApiWrite& write);
  void OnSlurmWrite(Site& site, const net::Request& request);
  static bool Sends(const Flight& flight, const op::Call& call);
  std::optional<Flight> SenderOf(const std::string& title, std::initializer_list<std::string> targets,
                                 const std::function<bool(const Flight& flight)>& sends);
  op::Broken ApiBreach(const kube::testing::ApiWrite& write);
  op::Broken SlurmBreach(const Site& site, const op::SlurmCall& call);
  void OnReservationWrite(Site& site, op::SlurmCall call, const net::Request& request);
  void OnNodeMade(Site& site, op::SlurmCall call, const net::Request& request);
  op::Around AroundOf(const json::Value& object) const;
  bool HasFaults() const;  // the API server, now
  Site* SiteOf(const json::Value& object) const;
  SetStory* SetOf(const kube::Key& pod) const;
  void Created(const kube::Key& pod);
  void Deleted(const kube::Key& pod);
  void Sent(const std::string& title);
  void Fold(std::initializer_list<std::string_view> texts);
  void Break(std::string what);

  Machines& machines_;
  const std::vector<Site*> sites_;
  const std::vector<plan::Right> rights_;
  std::optional<std::string> broken_;
  std::multimap<std::string, Flight> flights_;    // by target
  std::map<kube::Key, std::string> hosts_;        // pod -> Slurm node, of pods that are or were
  std::map<std::string, std::deque<Tick>> sent_;  // when each write of the last minute was sent
  std::optional<Tick> late_since_;                // the API server had faults last
  int writes_ = 0;
  uint64_t fingerprint_ = 0;
};

}  // namespace capstan::sim
