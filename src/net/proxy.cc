#include "net/proxy.h"

#include <arpa/inet.h>

#include <algorithm>
#include <optional>

#include "base/hash.h"
#include "base/text.h"

namespace capstan::net {
namespace {

// "user:password" as RFC 7617 wants it; nullopt when it is not percent-encoded text.
std::optional<Secret> BasicAuthorization(std::string_view user_info) {
  const size_t colon = user_info.find(':');
  const auto user = PercentDecoded(user_info.substr(0, colon));
  const auto password = PercentDecoded(colon == user_info.npos ? "" : user_info.substr(colon + 1));
  if (!user || !password) return std::nullopt;
  return Secret("Basic " + Base64(*user + ":" + *password));
}

// --- NO_PROXY -------------------------------------------------------------------------------------------

// The bytes of an address, four or sixteen; IPv4 written as IPv6 is IPv4.
std::string AddressBytes(const std::string& text) {
  in_addr v4{};
  if (inet_pton(AF_INET, text.c_str(), &v4) == 1) return std::string(reinterpret_cast<char*>(&v4), sizeof v4);
  in6_addr v6{};
  if (inet_pton(AF_INET6, text.c_str(), &v6) != 1) return {};
  const std::string bytes(reinterpret_cast<char*>(&v6), sizeof v6);
  return IN6_IS_ADDR_V4MAPPED(&v6) ? bytes.substr(12) : bytes;
}

bool IsLoopback(const std::string& address) {
  if (address.size() == 4) return address[0] == 127;
  return address.size() == 16 && address == AddressBytes("::1");
}

// nullopt: `entry` is not a CIDR block.
std::optional<bool> InBlock(std::string_view entry, const std::string& address) {
  const size_t slash = entry.find('/');
  if (slash == entry.npos) return std::nullopt;
  const std::string base = AddressBytes(std::string(entry.substr(0, slash)));
  const auto length = ParseInt(entry.substr(slash + 1));
  if (base.empty() || !length || *length < 0 || size_t(*length) > base.size() * 8) return std::nullopt;
  if (address.size() != base.size()) return false;
  for (size_t bit = 0; bit < size_t(*length); ++bit) {
    const unsigned char mask = 0x80 >> bit % 8;
    if ((address[bit / 8] ^ base[bit / 8]) & mask) return false;
  }
  return true;
}

struct HostAndPort {
  std::string host;
  std::string port;
};

HostAndPort Taken(std::string_view entry) {
  const size_t colon = entry.rfind(':');
  const bool bracketed = entry.starts_with('[');
  const bool with_port = colon != entry.npos && (bracketed ? entry[colon - 1] == ']' : entry.find(':') == colon);
  HostAndPort taken{std::string(entry.substr(0, with_port ? colon : entry.npos)),
                    with_port ? std::string(entry.substr(colon + 1)) : std::string()};
  if (bracketed && taken.host.ends_with(']')) taken.host = taken.host.substr(1, taken.host.size() - 2);
  return taken;
}

bool MatchesName(std::string name, const std::string& host) {
  if (name.starts_with("*.")) name.erase(0, 1);
  if (name.starts_with('.')) return host.ends_with(name);
  return host == name || host.ends_with("." + name);
}

bool Exempts(std::string_view entry, const std::string& host, const std::string& address, uint16_t port) {
  if (entry.empty()) return false;
  if (entry == "*") return true;
  if (const auto in_block = InBlock(entry, address)) return *in_block;
  const HostAndPort taken = Taken(entry);
  if (taken.host.empty() || (!taken.port.empty() && taken.port != std::to_string(port))) return false;
  if (const std::string bytes = AddressBytes(taken.host); !bytes.empty()) return bytes == address;
  return MatchesName(taken.host, host);
}

bool IsExempt(const Endpoint& server, std::string_view no_proxy) {
  const std::string host = ToLower(server.host);
  const std::string address = AddressBytes(host);
  if (host == "localhost" || IsLoopback(address)) return true;
  const std::string lower = ToLower(no_proxy);
  return std::ranges::any_of(Split(lower, ','),
                             [&](std::string_view entry) { return Exempts(Trim(entry), host, address, server.port); });
}

}  // namespace

Result<std::shared_ptr<const Proxy>> Proxy::Parse(std::string_view url) {
  if (url.starts_with("socks")) return Fail(Code::kInvalid, "SOCKS proxies are not supported; give an http:// proxy");
  const size_t begin = url.find("://");
  if (!url.starts_with("http://") && !url.starts_with("https://"))
    return Fail(Code::kInvalid, "must begin with http:// or https://");
  const size_t authority = begin + 3;
  const size_t authority_end = std::min(url.find_first_of("/?#", authority), url.size());
  const size_t at = url.substr(0, authority_end).rfind('@');

  auto proxy = std::make_shared<Proxy>();
  std::string without_user(url);
  if (at != url.npos) {
    std::optional<Secret> basic = BasicAuthorization(url.substr(authority, at - authority));
    if (!basic) return Fail(Code::kInvalid, "user and password are not percent-encoded");
    proxy->authorization = *std::move(basic);
    without_user = std::string(url.substr(0, authority)) + std::string(url.substr(at + 1));
  }
  Result<Endpoint> endpoint = Endpoint::Parse(without_user);
  if (!endpoint) return Fail(std::move(endpoint).error());
  if (!endpoint->base_path.empty()) return Fail(Code::kInvalid, "a proxy's URL ends after host and port");
  proxy->at = *std::move(endpoint);
  return proxy;
}

Result<std::shared_ptr<const Proxy>> ProxyFromEnvironment(const Endpoint& server, std::string_view https_proxy,
                                                          std::string_view no_proxy) {
  if (https_proxy.empty() || server.scheme != Endpoint::Scheme::kHttps || IsExempt(server, no_proxy)) return nullptr;
  if (https_proxy.find("://") == https_proxy.npos) return Proxy::Parse("http://" + std::string(https_proxy));
  return Proxy::Parse(https_proxy);
}

}  // namespace capstan::net
