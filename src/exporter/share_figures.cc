#include "exporter/share_figures.h"

#include <optional>

namespace capstan::exporter {

std::array<Uncounted, 2> ShowShares(Exposition& out, const std::vector<slurm::Share>& shares) {
  using slurm::Share;
  std::vector<const Share*> accounts, users;
  std::array<Uncounted, 2> uncounted = {Uncounted{"account"}, Uncounted{"username"}};
  for (const Share& share : shares) {
    const bool of_user = !share.user.empty();
    std::vector<const Share*>& kept = of_user ? users : accounts;
    if (kept.size() < (of_user ? kMostUsers : kMostAccounts))
      kept.push_back(&share);
    else
      ++uncounted[of_user ? 1 : 0].records;
  }
  const auto show_accounts = [&](std::string_view name, std::string_view help, const auto& value) {
    out.Family(name, help);
    for (const Share* one : accounts)
      if (const auto number = value(*one)) out.Sample({{"account", one->account}}, *number);
  };
  const auto show_users = [&](std::string_view name, std::string_view help, const auto& value) {
    out.Family(name, help);
    for (const Share* one : users)
      if (const auto number = value(*one))
        out.Sample({{"account", one->account}, {"username", one->user}, {"partition", one->partition}}, *number);
  };
  const auto usage = [](const Share& one) { return std::optional(one.usage); };
  const auto usage_ratio = [](const Share& one) { return std::optional(one.usage_ratio); };
  show_accounts("slurm_account_shares", "Shares of an account among its siblings",
                [](const Share& one) { return one.shares; });
  show_accounts("slurm_account_shares_ratio", "Shares of an account, of its siblings' together, 0 to 1",
                [](const Share& one) { return one.shares_ratio; });
  show_accounts("slurm_account_usage_seconds",
                "Billing units times seconds that an account has used, older ones counted less", usage);
  show_accounts("slurm_account_usage_ratio", "Usage of an account, of its siblings' together, 0 to 1", usage_ratio);
  show_users("slurm_user_usage_seconds", "Billing units times seconds that a user has used, older ones counted less",
             usage);
  show_users("slurm_user_usage_ratio", "Usage of a user, of that of the account's users together, 0 to 1", usage_ratio);
  show_users("slurm_user_fair_share", "Fair-share factor of a user, 0 to 1: the jobs of the highest come first",
             [](const Share& one) { return one.fair_share; });
  return uncounted;
}

}  // namespace capstan::exporter
