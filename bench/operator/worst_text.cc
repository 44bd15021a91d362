// What the worst texts that a Controller may have in spec.extraConf cost: the CPU time of a Decide that publishes such a text
// in place of another like it, and the memory that it takes at most.
//
//   bench_worst_text ROUNDS    prints for each text its name, the median in milliseconds, and in KiB what the process has at
//                              most above what it had before
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "api/controller.h"
#include "base/text.h"
#include "operator/controller/config.h"
#include "operator/controller/decide.h"
#include "operator/kind.h"
#include "operator/names.h"
#include "operator/objects.h"
#include "operator/questions.h"
#include "operator/settings.h"
#include "plan/world.h"

namespace capstan {
namespace {

double CpuMs() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e3 + double(now.tv_nsec) / 1e6;
}

// Of /proc/self/status.
int64_t KiB(std::string_view name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    const auto words = Words(line);
    if (words.size() > 1 && words[0] == name) return ParseInt(words[1]).value_or(0);
  }
  return 0;
}

// Lines until the text is as long as one may be.
std::string Lines(const std::function<std::string(size_t)>& line) {
  std::string text;
  for (size_t i = 0;; ++i) {
    const std::string next = line(i) + "\n";
    if (text.size() + next.size() > size_t(api::kLongestConf)) return text;
    text += next;
  }
}

// "a0,a1,...": as many as a list may have.
std::string Names(size_t line, std::string_view prefix) {
  std::string names;
  for (int i = 0; i < 30'000; ++i)
    names.append(i == 0 ? "" : ",").append(prefix).append(std::to_string(line * 30'000 + size_t(i)));
  return names;
}

std::string Numbers(size_t line) {
  std::string numbers = "n" + std::to_string(line) + "-[1";
  for (int i = 3; i < 60'000; i += 2) numbers += "," + std::to_string(i);
  return numbers + "]";
}

std::string Times(size_t times, std::string_view text) {
  std::string all;
  for (size_t i = 0; i < times; ++i) all += text;
  return all;
}

struct Text {
  const char* name;
  std::string text;
};

std::vector<Text> Texts() {
  const auto number = [](size_t i) { return std::to_string(i); };
  return {
      {"unknown", Lines([](size_t) { return "a=1"; })},
      {"short", Lines([](size_t) { return "Prolog=a"; })},
      {"continued", Lines([](size_t) { return "\\"; }) + "Prolog=a\n"},
      {"escaped", Lines([](size_t) { return "Prolog=\\\\\\\\"; })},
      {"items", Lines([](size_t i) { return "NodeName=n" + std::to_string(i) + Times(10'000, " Gres=a"); })},
      {"words", "PrologFlags=" + Times(120'000, "X11,") + "X11\n"},
      {"racks", Lines([&](size_t i) { return "NodeName=node-number-of-rack-" + number(i) + "-[1-99999]"; })},
      {"names", Lines([&](size_t i) { return "NodeName=" + Names(i, "a"); })},
      {"numbers", Lines([&](size_t i) { return "NodeName=" + Numbers(i); })},
      {"brackets", Lines([&](size_t i) { return "NodeName=n[0-9]x[0-9]x[0-9]x[0-9]x" + number(i) + "-[1-5]"; })},
      {"partitions", Lines([&](size_t i) {
         return i == 0 ? "NodeName=n[1-99999]" : "PartitionName=" + number(i) + " Nodes=n[1-9,20-99]";
       })},
      {"alternating", Lines([&](size_t i) { return "NodeName=n" + number(i) + "-[1,10,2,11,3,12,4,13,5,14]"; })},
  };
}

// A Controller whose slurm.conf is published.
class Cluster {
 public:
  Cluster() {
    op::AddStores(stores_);
    for (const plan::Stores::Entry& entry : stores_.all()) entry.store->AddFeed("");
    controller_.metadata = {.name = "main", .namespace_ = "slurm", .uid = "uid", .generation = 1};
    controller_.spec.slurm_key_ref = {.name = "keys", .key = "slurm.key"};
    controller_.spec.jwt_key_ref = {.name = "keys", .key = "jwt.key"};
    auto keys = std::make_shared<op::SecretDigest::Value>();
    keys->digests = {{"slurm.key", "1"}, {"jwt.key", "2"}};
    answers_.entries()["secret slurm/keys"] = {.state = plan::AnswerState::kKnown, .value = std::move(keys)};
  }

  // False: Slurm would not take it.
  bool Publish(const std::string& text) {
    op::controller::Config config{
        .ns = "slurm", .controller = "main", .cluster_name = "slurm_main", .extra_conf = text, .is_lost = true};
    auto conf = op::controller::SlurmConf(config);
    if (!conf) {
      std::fprintf(stderr, "%s\n", conf.error().message().c_str());
      return false;
    }
    op::ConfigMap published;
    published.metadata = {
        .name = op::ConfigName("main"),
        .namespace_ = "slurm",
        .uid = "config",
        .owner_references = {{.kind = "Controller", .name = "main", .uid = "uid", .controller = true}}};
    published.data.slurm_conf = *std::move(conf);
    Put(std::move(published));
    return true;
  }

  double Decide(const std::string& text) {
    controller_.spec.extra_conf = text;
    Put(controller_);
    plan::World::Parts parts;
    parts.now = Time(1'000'000s);
    parts.tick = Tick(1h);
    parts.stores = &stores_;
    parts.answers = &answers_;
    parts.settings = &settings_;
    parts.slurm = [](const std::string&) { return plan::SlurmLook{.error = {}, .snapshot = {}}; };
    const plan::World world(std::move(parts));
    const double before = CpuMs();
    const plan::Plan plan = op::controller::Decide(world, {"slurm", "main"});
    const double took = CpuMs() - before;
    published_ =
        std::ranges::any_of(plan.children, [](const plan::Child& c) { return c.key.name == op::ConfigName("main"); });
    return took;
  }
  bool published() const { return published_; }

 private:
  template <class T>
  void Put(T object) {
    object.metadata.resource_version = ++version_;
    (void)const_cast<kube::Store<T>&>(stores_.Of<T>()).Answered(std::move(object), Tick());
  }

  plan::Stores stores_;
  plan::Answers answers_;
  op::Settings settings_;
  api::Controller controller_;
  uint64_t version_ = 0;
  bool published_ = false;
};

// False: it is not accepted.
bool Measure(const Text& text, int rounds) {
  Cluster cluster;
  if (!cluster.Publish(text.text + "PartitionName=gone Nodes=n0-0\n")) return false;
  const int64_t had = KiB("VmRSS:");
  std::ofstream("/proc/self/clear_refs") << "5";  // VmHWM begins anew
  std::vector<double> times;
  for (int i = 0; i < rounds; ++i) times.push_back(cluster.Decide(text.text));
  std::ranges::nth_element(times, times.begin() + std::ptrdiff_t(times.size() / 2));
  std::printf("%s %.1f %lld\n", text.name, times[times.size() / 2], static_cast<long long>(KiB("VmHWM:") - had));
  return cluster.published();
}

// In a process of its own: what one text has left behind would serve the next.
bool MeasureApart(const Text& text, int rounds) {
  const pid_t child = fork();
  if (child == 0) {
    const bool accepted = Measure(text, rounds);
    std::fflush(stdout);
    _exit(accepted ? 0 : 1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace
}  // namespace capstan

int main(int argc, char** argv) {
  const auto rounds = argc == 2 ? capstan::ParseInt(argv[1]) : std::nullopt;
  if (!rounds || *rounds < 1) {
    std::fprintf(stderr, "usage: bench_worst_text ROUNDS\n");
    return 2;
  }
  for (const capstan::Text& text : capstan::Texts()) {
    if (capstan::MeasureApart(text, int(*rounds))) continue;
    std::fprintf(stderr, "bench_worst_text: the text \"%s\" is not accepted\n", text.name);
    return 1;
  }
  return 0;
}
