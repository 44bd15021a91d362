#include "entry/root/removal.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/text.h"
#include "entry/descriptor.h"
#include "entry/process.h"
#include "entry/root/failed.h"
#include "entry/root/reports.h"

namespace capstan::entry {
namespace {

constexpr size_t kNamed = 3;  // pods, of many
constexpr size_t kTold = 8;   // generations that are kept
constexpr size_t kLongestWhy = 300;

std::string TextOf(const SwitchOrder& order) { return order.owner + "/" + std::to_string(order.number); }

std::string ListOf(std::vector<std::string> pods) {
  std::ranges::sort(pods);
  std::string text = pods.size() == 1 ? "pod " : "pods ";
  for (size_t i = 0; i < std::min(pods.size(), kNamed); ++i) text += (i == 0 ? "" : ", ") + pods[i];
  return pods.size() <= kNamed ? text : text + " and " + std::to_string(pods.size() - kNamed) + " more";
}

// What the pods say.
struct Reports {
  std::map<std::string, std::vector<std::string>> users;  // names of pods, by generation
  std::vector<std::string> silent;

  // Why it stays; "": nobody is in it.
  std::string WhyKept(const std::string& generation) const {
    if (const auto in = users.find(generation); in != users.end())
      return ListOf(in->second) + (in->second.size() == 1 ? " is in it" : " are in it");
    if (silent.empty()) return "";
    return ListOf(silent) + (silent.size() == 1 ? " does not say which it has" : " do not say which they have");
  }
};

Result<Reports> ReadReports(const Removal& removal, const Descriptor& lock) {
  CAPSTAN_TRY(const std::vector<std::string> reporting, ReportingPods(removal.volume, lock));
  std::map<std::string, std::string> names;  // by uid; of a pod that nobody has listed there is none
  for (const std::string& uid : reporting) names[uid] = uid;
  for (const Removal::Pod& pod : removal.pods) names[pod.uid] = pod.name;
  Reports reports;
  for (const auto& [uid, name] : names) {
    const auto said = ReadReport(removal.volume, uid);
    if (!said && said.error().code() == Code::kUnavailable) return Fail(said.error());
    if (!said) {
      reports.silent.push_back(name);
      continue;
    }
    for (const std::string& generation : *said) reports.users[generation].push_back(name);
  }
  return reports;
}

// What removals, and fills that were ended, have left. REQUIRES: kRoots.
void RemoveFiles(const std::string& volume) {
  const std::string roots = volume + "/roots";
  const Result<std::vector<std::string>> names = NamesIn(roots);
  if (!names) return Say(names.error().message());
  for (const std::string& name : *names) {
    const std::string generation = name.substr(0, name.find('.')), path = roots + "/" + name;
    const bool is_left = path == RemovedFolder(volume, generation) || path == PartialFolder(volume, generation);
    if (!IsLabel(generation) || !is_left) continue;
    std::error_code failed;
    std::filesystem::remove_all(path, failed);
    if (failed) Say("removing " + path + ": " + failed.message() + "; what is left stays for the next removal");
  }
}

Result<void> Rename(const Removal& removal, Removed* done) {
  CAPSTAN_TRY(const Descriptor lock, LockVolume(removal.volume, VolumeLock::kCurrent));
  if (const SwitchOrder last = LastOrder(removal.volume); last != removal.order)
    return Fail(Code::kUnavailable, "the pods were listed after switch " + TextOf(removal.order) +
                                        ", and on the volume is " + TextOf(last) + "; the next switch mends that");
  CAPSTAN_TRY(const std::optional<Layout> current, CurrentLayout(removal.volume));
  if (!current) return Fail(Code::kUnavailable, "no generation is current");
  CAPSTAN_TRY(const Reports reports, ReadReports(removal, lock));
  for (const std::string& generation : removal.generations) {
    const std::string root = RootFolder(removal.volume, generation), to = RemovedFolder(removal.volume, generation);
    const bool is_there = access(root.c_str(), F_OK) == 0 || errno != ENOENT;
    const std::string why = generation == current->generation ? "it is current" : reports.WhyKept(generation);
    if (is_there && !why.empty()) {
      done->kept[generation] = why;
      continue;
    }
    if (is_there && rename(root.c_str(), to.c_str()) != 0) {
      done->kept[generation] = "it cannot be renamed: " + Why();
      continue;
    }
    done->removed.push_back(generation);
  }
  return {};
}

}  // namespace

std::string RemovedText(const Removed& removed) {
  std::string text = "{\"removed\":[";
  for (size_t i = 0; i < removed.removed.size(); ++i) text += (i == 0 ? "" : ",") + JsonQuoted(removed.removed[i]);
  text += "],\"kept\":{";
  size_t told = 0;
  for (const auto& [generation, why] : removed.kept) {
    if (told == kTold) break;
    text += (told++ == 0 ? "" : ",") + JsonQuoted(generation) + ":" + JsonQuoted(OneLine(why, kLongestWhy));
  }
  return text + "}}";
}

Result<Removed> RemoveGenerations(const Removal& removal) {
  for (const std::string& generation : removal.generations)
    CAPSTAN_CHECK_OK(CheckLayout({.generation = generation, .keep = {}, .node_local = {}}));
  CAPSTAN_TRY(const Descriptor lock, LockVolume(removal.volume, VolumeLock::kRoots));
  RemoveFiles(removal.volume);
  Removed done;
  CAPSTAN_CHECK_OK(Rename(removal, &done));
  RemoveFiles(removal.volume);
  return done;
}

}  // namespace capstan::entry
