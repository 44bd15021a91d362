#include "kube/access_reviews.h"

#include <vector>

#include "json/codec.h"
#include "json/schema.h"
#include "json/value.h"

namespace capstan::kube {
namespace {

constexpr Duration kLimit = 5s;

struct User {
  std::string name, uid;
  std::vector<std::string> groups;
  std::map<std::string, std::vector<std::string>> extra;
  static const json::Schema& Schema() {
    static const json::Schema schema =
        json::Object<User>({json::Field<&User::name>("username"), json::Field<&User::uid>("uid"),
                            json::Field<&User::groups>("groups"), json::Field<&User::extra>("extra")});
    return schema;
  }
};

struct TokenReviewed {
  struct Status {
    bool authenticated = false;
    User user;
    static const json::Schema& Schema() {
      static const json::Schema schema = json::Object<Status>(
          {json::Field<&Status::authenticated>("authenticated"), json::Field<&Status::user>("user")});
      return schema;
    }
  };
  Status status;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<TokenReviewed>({json::Field<&TokenReviewed::status>("status")});
    return schema;
  }
};

struct AccessReviewed {
  struct Status {
    bool allowed = false;
    static const json::Schema& Schema() {
      static const json::Schema schema = json::Object<Status>({json::Field<&Status::allowed>("allowed")});
      return schema;
    }
  };
  Status status;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<AccessReviewed>({json::Field<&AccessReviewed::status>("status")});
    return schema;
  }
};

std::string Object(const Resource& resource, boost::json::object spec) {
  return json::Serialize(
      boost::json::object{{"apiVersion", resource.ApiVersion()}, {"kind", resource.kind}, {"spec", std::move(spec)}});
}

std::string AccessReviewOf(const User& user, const std::string& path) {
  boost::json::object extra;
  for (const auto& [key, values] : user.extra) extra[key] = boost::json::array(values.begin(), values.end());
  return Object(kSubjectAccessReviews,
                {{"user", user.name},
                 {"uid", user.uid},
                 {"groups", boost::json::array(user.groups.begin(), user.groups.end())},
                 {"extra", std::move(extra)},
                 {"nonResourceAttributes", boost::json::object{{"path", path}, {"verb", "get"}}}});
}

bool IsVerdict(const Result<void>& may) {
  return may || may.error().code() == Code::kUnauthenticated || may.error().code() == Code::kForbidden;
}

// The server's refusal of our question must not pass for a refusal of whoever asks us.
std::unexpected<Error> CannotAsk(const Error& error) {
  return Fail(Code::kUnavailable, "the API server cannot be asked who may read this: " + error.message());
}

}  // namespace

async::Task<Result<void>> AccessReviews::MayGet(Secret token, std::string path) {
  const std::string question = token.Digest() + " " + path;
  if (const auto found = kept_.find(question); found != kept_.end() && loop_.Now() < found->second.until)
    co_return found->second.may;
  if (asking_ >= kMostAtOnce) co_return Fail(Code::kThrottled, "too many ask at once; try again later");
  struct Counted {
    int& count;
    explicit Counted(int& of) : count(++of) {}
    ~Counted() { --count; }
  } counted(asking_);
  const Result<void> may = co_await Review(token, path);
  if (IsVerdict(may)) Keep(question, may);
  co_return may;
}

async::Task<Result<void>> AccessReviews::Review(const Secret& token, const std::string& path) {
  const async::Deadline deadline = loop_.After(kLimit);
  const auto who = co_await client_.Create<TokenReviewed>(
      kTokenReviews, {}, Object(kTokenReviews, {{"token", token.Reveal()}}), {}, deadline);
  if (!who) co_return CannotAsk(who.error());
  if (!who->status.authenticated || who->status.user.name.empty())
    co_return Fail(Code::kUnauthenticated, "the API server does not know this token");
  const User& user = who->status.user;
  const auto access =
      co_await client_.Create<AccessReviewed>(kSubjectAccessReviews, {}, AccessReviewOf(user, path), {}, deadline);
  if (!access) co_return CannotAsk(access.error());
  if (!access->status.allowed)
    co_return Fail(Code::kForbidden, user.name + " may not get " + path +
                                         "; a ClusterRole with that path among its nonResourceURLs allows it");
  co_return Result<void>();
}

void AccessReviews::Keep(const std::string& question, const Result<void>& may) {
  if (kept_.size() >= kMostKept)
    std::erase_if(kept_, [&](const auto& each) { return each.second.until <= loop_.Now(); });
  if (kept_.size() >= kMostKept) kept_.clear();
  kept_.insert_or_assign(question, Verdict{may, loop_.Now() + (may ? kYesLasts : kNoLasts)});
}

}  // namespace capstan::kube
