#include "operator/accounting/config.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"
#include "operator/names.h"
#include "slurm/conf.h"
#include "slurm/conf_check.h"

namespace capstan::op::accounting {
namespace {

using slurm::ConfItem;
using slurm::ConfText;

// What slurmdbd does not work without, whatever else the user asks of these keys.
std::vector<ConfItem> RequiredOptions(const api::Accounting& accounting) {
  std::string jwt = "jwt_key=/etc/slurm/jwt.key";
  if (accounting.spec.jwks_key_ref) jwt += ",jwks=/etc/slurm/jwks.json";
  return {{"AuthAltParameters", jwt}, {"AuthInfo", "use_client_ids"}};
}

void General(ConfText& text, const api::Accounting& accounting) {
  text.Section("GENERAL")
      .Set("DbdHost", AccountingName(accounting.metadata.name) + "-0")
      .Set("DbdPort", kSlurmdbdPort)
      .Set("SlurmUser", "slurm");
}

void Storage(ConfText& text, const api::StorageConfig& storage) {
  text.Section("STORAGE")
      .Set("StorageType", "accounting_storage/mysql")
      .Set("StorageHost", storage.host)
      .Set("StoragePort", storage.port.value_or(0) == 0 ? kDatabasePort : *storage.port);
  if (!storage.username.empty()) text.Set("StorageUser", storage.username);
  text.Set("StorageLoc", *storage.database);
}

// A list of hosts, a URL or a port would be taken for a name that nobody knows, and tried for ever.
Result<void> CheckHost(std::string_view host) {
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '_'; };
  const bool address = std::ranges::count(host, ':') > 1 && std::ranges::all_of(host, [](unsigned char c) {
                         return std::isxdigit(c) != 0 || c == ':' || c == '.';
                       });
  if (address || (!host.empty() && std::ranges::all_of(host, fits))) return {};
  return Fail(Code::kInvalid, "spec.storageConfig.host is " + JsonQuoted(host) +
                                  ", must be a host's name or address; a port goes into spec.storageConfig.port");
}

}  // namespace

Result<SlurmdbdConf> MakeSlurmdbdConf(const api::Accounting& accounting) {
  if (!accounting.spec.storage_config)
    return Fail(Code::kInvalid, "spec.storageConfig must say where the database is when spec.external is false");
  CAPSTAN_CHECK_OK(CheckHost(accounting.spec.storage_config->host));
  ConfText before, after;
  General(before, accounting);
  before.Section("PLUGINS & PARAMETERS").Set("AuthType", "auth/slurm").Set("AuthAltTypes", "auth/jwt");
  for (const ConfItem& item : RequiredOptions(accounting)) before.Set(item.key, item.value);
  Storage(before, *accounting.spec.storage_config);
  after.Section("LOGGING").Set("LogFile", "/dev/null");
  const std::string& extra = accounting.spec.extra_conf;
  if (extra.find_first_not_of(" \t\r\n") != std::string::npos) {
    for (const slurm::ConfFinding& finding : slurm::CheckConf(slurm::ConfFile::kSlurmdbd, extra)) {
      if (!finding.refused) continue;
      const std::string line = finding.line == 0 ? "" : "line " + std::to_string(finding.line) + ": ";
      return Fail(Code::kInvalid, "spec.extraConf: " + line + finding.text);
    }
    after.Section("EXTRA CONFIG").Verbatim(extra, "spec.extraConf");
    const std::vector<ConfItem> merged = slurm::MergedOptions(RequiredOptions(accounting), extra);
    if (!merged.empty()) after.Section("MERGED CONFIG");
    for (const ConfItem& item : merged) after.Add(item.key, item.value);
  }
  SlurmdbdConf conf;
  CAPSTAN_TRY(conf.before, before.Build());
  conf.before += "StoragePass=";
  CAPSTAN_TRY(std::string rest, after.Build());
  conf.after = "\n" + std::move(rest);
  return conf;
}

Result<std::string> PasswordValue(std::string_view password) {
  if (auto value = slurm::ConfValue(password)) return value;
  return Fail(
      Code::kInvalid,
      "it is empty, or has a double quote, a line break or another control character, which slurmdbd.conf cannot "
      "express; use another password");
}

}  // namespace capstan::op::accounting
