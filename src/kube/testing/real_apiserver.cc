#include "kube/testing/real_apiserver.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/hash.h"
#include "kube/config/auth.h"
#include "net/testing/run.h"

namespace capstan::kube::testing {
namespace {

constexpr size_t kLogTail = 3000;

// Ports that were free a moment ago; all are held while they are chosen, so that they differ.
std::vector<uint16_t> FreePorts(size_t count) {
  std::vector<uint16_t> ports;
  std::vector<int> held;
  for (size_t i = 0; i < count; ++i) {
    held.push_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    bind(held.back(), reinterpret_cast<sockaddr*>(&address), size);
    getsockname(held.back(), reinterpret_cast<sockaddr*>(&address), &size);
    ports.push_back(ntohs(address.sin_port));
  }
  for (const int fd : held) close(fd);
  return ports;
}

void Put(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

std::string TailOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  return text.size() <= kLogTail ? text : text.substr(text.size() - kLogTail);
}

pid_t Spawn(std::vector<std::string> words, const std::string& log) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child != 0) return child;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  const int fd = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(fd, 1);
  dup2(fd, 2);
  execv(arguments[0], arguments.data());
  _exit(127);
}

bool Ended(pid_t pid) { return waitpid(pid, nullptr, WNOHANG) == pid; }

void End(pid_t& pid, int signal) {
  if (pid <= 0) return;
  kill(pid, signal);
  waitpid(pid, nullptr, 0);
  pid = 0;
}

}  // namespace

RealApiserver::RealApiserver(Options options, std::string folder)
    : options_(std::move(options)), folder_(std::move(folder)), authority_("capstan test CA") {
  const std::vector<uint16_t> ports = FreePorts(3);
  etcd_port_ = ports[0];
  etcd_peer_port_ = ports[1];
  endpoint_ = {net::Endpoint::Scheme::kHttps, "127.0.0.1", ports[2], ""};
}

RealApiserver::~RealApiserver() {
  End(apiserver_, SIGKILL);
  End(etcd_, SIGKILL);
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

Result<std::unique_ptr<RealApiserver>> RealApiserver::Start(Options options) {
  if (const char* const tools = std::getenv(kToolsVariable)) options.tools = tools;
  for (const std::string name : {"etcd", "kube-apiserver"}) {
    const std::string path = options.tools + "/" + name;
    if (access(path.c_str(), X_OK) == 0) continue;
    return Fail(Code::kNotFound, path + " is missing; Capstan's \"dev/tools " + name + "\" builds it, and " +
                                     kToolsVariable + " may name another folder that has it");
  }
  const char* const temporary = std::getenv("TMPDIR");
  std::string folder = std::string(temporary ? temporary : "/tmp") + "/capstan-apiserver.XXXXXX";
  if (!mkdtemp(folder.data())) return Fail(Code::kUnavailable, folder + ": " + std::strerror(errno));
  std::unique_ptr<RealApiserver> server(new RealApiserver(std::move(options), std::move(folder)));
  server->WriteFiles();
  CAPSTAN_CHECK_OK(server->StartEtcd());
  CAPSTAN_CHECK_OK(server->StartApiserver());
  return server;
}

void RealApiserver::WriteFiles() {
  const net::testing::KeyPair serving = authority_.Issue({.common_name = "kube-apiserver"});
  const net::testing::KeyPair accounts = authority_.Issue({.common_name = "service accounts"});
  Put(File("ca.crt"), authority_.certificate_pem());
  Put(File("serving.crt"), serving.certificate_pem);
  Put(File("serving.key"), serving.key_pem);
  Put(File("accounts.crt"), accounts.certificate_pem);
  Put(File("accounts.key"), accounts.key_pem);
  Put(File("tokens.csv"), std::string(kKnownToken) + ",token-user,1,token-users\n");
  Put(File("audit.yaml"),
      "apiVersion: audit.k8s.io/v1\nkind: Policy\nomitStages: [RequestReceived]\nrules: [{level: "
      "Metadata}]\n");
}

Result<void> RealApiserver::StartEtcd() {
  const std::string url = "http://127.0.0.1:" + std::to_string(etcd_port_);
  const std::string peer = "http://127.0.0.1:" + std::to_string(etcd_peer_port_);
  etcd_ = Spawn({options_.tools + "/etcd", "--data-dir", File("etcd"), "--listen-client-urls", url,
                 "--advertise-client-urls", url, "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
                 "--initial-cluster", "default=" + peer, "--unsafe-no-fsync"},
                File("etcd.log"));
  if (etcd_ < 0) return Fail(Code::kUnavailable, std::string("starting etcd: ") + std::strerror(errno));
  return {};
}

Result<void> RealApiserver::StartApiserver() {
  std::vector<std::string> words = {
      options_.tools + "/kube-apiserver",
      "--etcd-servers=http://127.0.0.1:" + std::to_string(etcd_port_),
      "--bind-address=127.0.0.1",
      "--advertise-address=127.0.0.1",
      "--endpoint-reconciler-type=none",
      "--secure-port=" + std::to_string(endpoint_.port),
      "--service-cluster-ip-range=10.96.0.0/16",
      "--tls-cert-file=" + File("serving.crt"),
      "--tls-private-key-file=" + File("serving.key"),
      "--client-ca-file=" + File("ca.crt"),
      "--token-auth-file=" + File("tokens.csv"),
      "--service-account-key-file=" + File("accounts.crt"),
      "--service-account-signing-key-file=" + File("accounts.key"),
      "--service-account-issuer=https://kubernetes.default.svc",
      "--authorization-mode=RBAC",
      "--allow-privileged=true",
      "--disable-admission-plugins=ServiceAccount",  // no controller makes the default accounts
      "--audit-policy-file=" + File("audit.yaml"),
      "--audit-log-path=" + audit_log(),
  };
  words.insert(words.end(), options_.more_flags.begin(), options_.more_flags.end());
  apiserver_ = Spawn(std::move(words), File("apiserver.log"));
  if (apiserver_ < 0) return Fail(Code::kUnavailable, std::string("starting kube-apiserver: ") + std::strerror(errno));
  return WaitUntilReady();
}

Result<void> RealApiserver::WaitUntilReady() {
  async::RealLoop loop;
  net::HttpClient client(loop, {.server = endpoint_, .credentials = Admin().credentials});
  const async::Deadline limit = loop.After(options_.ready_limit);
  while (!limit.Passed(loop.Now())) {
    if (Ended(apiserver_)) {
      apiserver_ = 0;
      return Fail(Code::kUnavailable,
                  "kube-apiserver ended:\n" + TailOf(File("apiserver.log")) + "\netcd:\n" + TailOf(File("etcd.log")));
    }
    const net::Request request{.method = "GET", .target = "/readyz", .repeatable = true};
    const Result<net::Response> ready = net::testing::RunTask(loop, client.Send(request, loop.After(5s)));
    if (ready && ready->status == 200) return {};
    usleep(50'000);
  }
  return Fail(Code::kUnavailable, "kube-apiserver is not ready after " + FormatDuration(options_.ready_limit) + ":\n" +
                                      TailOf(File("apiserver.log")));
}

void RealApiserver::StopApiserver(bool hard) { End(apiserver_, hard ? SIGKILL : SIGTERM); }

Result<void> RealApiserver::CompactEtcd() {
  async::RealLoop loop;
  net::HttpClient client(loop, {.server = {net::Endpoint::Scheme::kHttp, "127.0.0.1", etcd_port_, ""}});
  const auto post = [&](std::string target, std::string body) -> Result<std::string> {
    net::Request request{.method = "POST", .target = std::move(target), .body = std::move(body)};
    CAPSTAN_TRY(const net::Response response,
                net::testing::RunTask(loop, client.Send(std::move(request), loop.After(10s))));
    if (response.status != 200) return Fail(Code::kInternal, "etcd: " + response.body);
    return response.body;
  };
  CAPSTAN_TRY(const std::string range, post("/v3/kv/range", R"({"key":"AA=="})"));
  constexpr std::string_view kRevision = R"("revision":")";
  const size_t begin = range.find(kRevision) + kRevision.size();
  const std::string revision = range.substr(begin, range.find('"', begin) - begin);
  CAPSTAN_CHECK_OK(post("/v3/kv/compaction", R"({"physical":true,"revision":")" + revision + R"("})"));
  return {};
}

Config RealApiserver::User(const std::string& name, const std::string& group) const {
  const net::testing::KeyPair pair =
      authority_.Issue({.common_name = name, .organization = group, .names = {}, .addresses = {}});
  CredentialSources sources;
  sources.ca = Source::Text(authority_.certificate_pem(), "CA");
  sources.certificate = Source::Text(pair.certificate_pem, "certificate");
  sources.key = Source::Text(pair.key_pem, "key");
  return {endpoint_, *MakeCredentials(std::move(sources)), "default", "the test's user " + name};
}

Config RealApiserver::WithToken(const std::string& token) const {
  CredentialSources sources;
  sources.ca = Source::Text(authority_.certificate_pem(), "CA");
  sources.token = Source::Text(token, "token");
  return {endpoint_, *MakeCredentials(std::move(sources)), "default", "the test's token"};
}

std::string RealApiserver::WriteKubeconfig() const {
  const net::testing::KeyPair pair =
      authority_.Issue({.common_name = "admin", .organization = "system:masters", .names = {}, .addresses = {}});
  const std::string path = File("admin.kubeconfig");
  Put(path,
      "apiVersion: v1\nkind: Config\ncurrent-context: test\ncontexts: [{name: test, context: {cluster: test, "
      "user: admin}}]\n"
      "clusters: [{name: test, cluster: {server: \"" +
          endpoint_.ToString() + "\", certificate-authority: " + File("ca.crt") +
          "}}]\nusers: [{name: admin, user: {client-certificate-data: " + Base64(pair.certificate_pem) +
          ", client-key-data: " + Base64(pair.key_pem) + "}}]\n");
  return path;
}

}  // namespace capstan::kube::testing
