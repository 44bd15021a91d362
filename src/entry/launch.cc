#include "entry/launch.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "base/hash.h"
#include "base/text.h"
#include "base/words.h"
#include "entry/directories.h"
#include "entry/identity.h"
#include "entry/mounted.h"
#include "entry/node_conf.h"
#include "entry/pam.h"
#include "entry/process.h"
#include "entry/sizing.h"

namespace capstan::entry {
namespace {

constexpr auto kHardwareLimit = std::chrono::seconds(30);
constexpr auto kHostKeysLimit = std::chrono::seconds(30);
constexpr int64_t kStopSeconds = 600;
constexpr std::string_view kRolesBeside[] = {"sssd", "sshd"};
constexpr const char* kHostKeys[] = {"/etc/ssh/ssh_host_ed25519_key", "/etc/ssh/ssh_host_ecdsa_key",
                                     "/etc/ssh/ssh_host_rsa_key"};

std::string Variable(const char* name) {
  const char* value = getenv(name);
  return value == nullptr ? "" : value;
}

bool Has(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// -D, also among others as in -Dvv.
bool IsForegroundFlag(std::string_view argument) {
  return argument.starts_with('-') && argument.contains('D') &&
         argument.find_first_not_of("Dv", 1) == std::string_view::npos;
}

void DropForegroundFlags(std::vector<std::string>* arguments) {
  for (std::string& argument : *arguments) {
    if (IsForegroundFlag(argument)) std::erase(argument, 'D');
  }
  std::erase(*arguments, "-");
}

// True when the folder is there afterwards, ours, and nobody else's to write to.
bool OwnFolder(const std::string& path) {
  mkdir(path.c_str(), 0755);
  struct stat found;
  return lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == geteuid() &&
         (found.st_mode & 022) == 0 && access(path.c_str(), W_OK) == 0;
}

Result<void> AddNodeSize(const std::string& program, std::vector<std::string>* arguments) {
  CAPSTAN_TRY(const PodShare share, ReadPodShare());
  CAPSTAN_TRY(NodeConf conf, TakeNodeConf(arguments));
  Hardware hardware = {.cores = 1, .threads_per_core = 1, .memory_mib = 0};
  if (NeedsHardware(share, conf)) {
    CAPSTAN_TRY(const std::string output, RunAndRead({program, "-C"}, kHardwareLimit));
    CAPSTAN_TRY(hardware, ParseHardware(output));
  }
  CAPSTAN_CHECK_OK(AddPodShare(share, hardware, &conf), "the node's --conf");
  if (!conf.empty()) {
    arguments->emplace_back("--conf");
    arguments->push_back(conf.Text());
  }
  return {};
}

// Where slurmctld and scontrol look for slurm.conf.
std::string ConfigurationFolder() {
  const std::string file = Variable("SLURM_CONF");
  return file.empty() ? "/etc/slurm" : file.substr(0, file.rfind('/'));
}

std::string HostName() {
  char host[HOST_NAME_MAX + 1] = {};
  gethostname(host, HOST_NAME_MAX);
  return host;
}

Result<uint16_t> Port(const char* variable, uint16_t usual) {
  const std::string text = Variable(variable);
  if (text.empty()) return usual;
  const std::optional<int64_t> port = ParseInt(text);
  if (!port || *port < 1 || *port > 65'535)
    return Fail(Code::kInvalid, std::string(variable) + " is '" + text + "', must be 1 to 65535");
  return static_cast<uint16_t>(*port);
}

// Of "0.0.0.0:6820"; 0: it names none.
uint16_t PortIn(std::string_view address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return 0;
  const std::optional<int64_t> port = ParseInt(address.substr(colon + 1));
  return port && *port >= 1 && *port <= 65'535 ? static_cast<uint16_t>(*port) : 0;
}

Result<Reconfigurer::Options> ReconfigurerOptions(const std::string& folder) {
  Reconfigurer::Options options{.mounted = ConfigurationFolder(), .folder = folder, .host = HostName()};
  CAPSTAN_TRY(options.scontrol, FindProgram("scontrol"));
  CAPSTAN_TRY(options.port, Port("CAPSTAN_CONFIGURATION_PORT", kConfigurationPort));
  return options;
}

Result<std::chrono::milliseconds> StopLimit() {
  const std::string text = Variable("CAPSTAN_STOP_SECONDS");
  if (text.empty()) return std::chrono::seconds(kStopSeconds);
  const std::optional<int64_t> seconds = ParseInt(text);
  if (!seconds || *seconds < 1 || *seconds > 86'400) {
    return Fail(Code::kInvalid, "CAPSTAN_STOP_SECONDS is '" + text + "', must be 1 to 86400");
  }
  return std::chrono::seconds(*seconds);
}

}  // namespace

Result<std::string> MakeFolder() {
  // With the uid: in /tmp, others of the same name may have been first.
  const std::string uid = std::to_string(geteuid());
  const std::string wanted = Variable("CAPSTAN_ENTRY_FOLDER"), in_tmp = "/tmp/capstan-" + uid;
  for (const std::string& path : {wanted, std::string("/run/capstan"), in_tmp}) {
    if (!path.empty() && OwnFolder(path)) return path;
  }
  return Fail(Code::kUnavailable, "no folder for the notify socket: uid " + uid +
                                      " can make neither /run/capstan nor " + in_tmp +
                                      "; mount an emptyDir on /run or /tmp");
}

Result<std::vector<std::string>> DaemonArguments(const Role& role, const std::vector<std::string>& arguments) {
  Result<std::vector<std::string>> words = SplitWords(Variable(role.options_variable));
  if (!words) return Fail(std::move(words).error().WithContext(role.options_variable));
  words->insert(words->end(), arguments.begin(), arguments.end());
  for (const std::string_view option : role.ask) {
    if (option == "--systemd") DropForegroundFlags(&*words);
    std::erase(*words, option);
  }
  words->insert(words->begin(), role.ask.begin(), role.ask.end());
  return words;
}

Result<std::vector<const Role*>> RolesBeside(const Role& role) {
  std::vector<std::string_view> names(role.beside.begin(), role.beside.end());
  const std::string variable = Variable("CAPSTAN_BESIDE");
  if (role.may_have_people) {
    for (const std::string_view word : Words(variable)) {
      if (!Has(kRolesBeside, word)) {
        return Fail(Code::kInvalid, "CAPSTAN_BESIDE names '" + std::string(word) + "', must be of: sssd sshd");
      }
      if (!Has(names, word)) names.push_back(word);
    }
  }
  std::vector<const Role*> roles;
  for (const std::string_view name : names) {
    CAPSTAN_TRY(const Role* found, FindRole(name));
    roles.push_back(found);
  }
  return roles;
}

namespace {

Result<Service> PrepareService(const Role& role, const std::vector<std::string>& arguments) {
  Service service;
  CAPSTAN_TRY(std::string program, FindProgram(role.program));
  CAPSTAN_TRY(std::vector<std::string> words, DaemonArguments(role, arguments));
  if (role.sizes_node) {
    CAPSTAN_CHECK_OK(AddNodeSize(program, &words));
    service.node = SettleNodeName(Variable("CAPSTAN_NODE_NAME"), HostName(), &words);
  }
  for (const Directory& directory : role.directories) CAPSTAN_CHECK_OK(OwnDirectory(directory.path, directory.owner));
  if (!role.files.empty()) {
    const auto mounted = std::make_shared<Mounted>(role.files);
    mounted->Refresh();
    service.refresh = [mounted] { return mounted->Refresh(); };
    service.reload_signal = role.reload_signal;
  }
  if (role.as_slurm && geteuid() == 0) {
    // It stays the same process, which is what announcements are believed by.
    CAPSTAN_TRY(std::string setpriv, FindProgram("setpriv"));
    const std::string user = std::to_string(kSlurmUser);
    service.argv = {std::move(setpriv), "--reuid=" + user, "--regid=" + user, "--clear-groups", "--"};
  }
  service.name = role.program;
  service.argv.push_back(std::move(program));
  service.argv.insert(service.argv.end(), words.begin(), words.end());
  service.notifies = role.notifies;
  service.may_fail = role.may_fail;
  service.on_end = role.on_end;
  return service;
}

// The host's own keys, where none is mounted or was brought.
Result<void> MakeHostKeys() {
  if (std::ranges::any_of(kHostKeys, [](const char* path) { return access(path, F_OK) == 0; })) return {};
  CAPSTAN_TRY(const std::string program, FindProgram("ssh-keygen"));
  CAPSTAN_CHECK_OK(RunAndRead({program, "-A"}, kHostKeysLimit));
  return {};
}

}  // namespace

Result<Container> PrepareContainer(const Role& role, const std::vector<std::string>& arguments) {
  Container container;
  CAPSTAN_TRY(container.stop_limit, StopLimit());
  CAPSTAN_TRY(const std::vector<const Role*> beside, RolesBeside(role));
  // With -b slurmd says that its machine was booted when it began itself: so it does of this container, also once it has crashed.
  if (std::ranges::find(arguments, "-b") != arguments.end())
    setenv("SLURMD_BOOT_TIME", std::to_string(time(nullptr)).c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
  CAPSTAN_TRY(Service first, PrepareService(role, arguments));
  container.services.push_back(std::move(first));
  for (const Role* other : beside) {
    CAPSTAN_TRY(Service service, PrepareService(*other, {}));
    container.services.push_back(std::move(service));
  }
  const bool sshd =
      role.name == "sshd" || std::ranges::any_of(beside, [](const Role* other) { return other->name == "sshd"; });
  if (sshd) CAPSTAN_CHECK_OK(MakeHostKeys(), "ssh host keys");
  if (sshd && role.sizes_node) CAPSTAN_CHECK_OK(LetInOnlyWithJob());
  Result<std::string> folder = MakeFolder();
  if (!folder && std::ranges::any_of(container.services, &Service::notifies)) return Fail(std::move(folder).error());
  container.folder = std::move(folder).value_or("");
  CAPSTAN_TRY(container.identity_port, Port("CAPSTAN_IDENTITY_PORT", kIdentityPort));
  if (const std::string& node = container.services.front().node; !node.empty()) {
    if (Result<std::string> scontrol = FindProgram("scontrol"); scontrol)
      container.registration = Registration::Options{.scontrol = *std::move(scontrol),
                                                     .node = node,
                                                     .state_kept = Variable("CAPSTAN_STATE_KEPT") != "false",
                                                     .seed = Fnv64(node, uint64_t(getpid()))};
  }
  container.shared_root = Variable("CAPSTAN_SHARED_ROOT");
  container.pod_uid = Variable("CAPSTAN_POD_UID");
  if (role.waits) {
    CAPSTAN_TRY(const uint16_t port, Port("CAPSTAN_CONFIGURATION_PORT", kConfigurationPort));
    container.wait = Waiting::Options{std::string(role.program), ConfigurationFolder(), port,
                                      role.probed ? PortIn(container.services.front().argv.back()) : uint16_t{0}};
  }
  if (role.reconfigures) {
    Result<Reconfigurer::Options> options = ReconfigurerOptions(container.folder);
    if (!options && options.error().code() == Code::kInvalid) return Fail(std::move(options).error());
    if (options)
      container.reconfigure = *std::move(options);
    else
      Say("a changed configuration will need a restart: " + options.error().message());
  }
  return container;
}

}  // namespace capstan::entry
