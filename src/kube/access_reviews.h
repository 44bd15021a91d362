// Whether whoever bears a token may read a path that this process serves, as the API server says: a TokenReview tells who it
// is, a SubjectAccessReview whether they may `get` that path. RBAC grants it with a rule of nonResourceURLs.
//
//   Result<void> may = co_await reviews.MayGet(Secret("eyJ..."), "/metrics");   // kUnauthenticated, kForbidden: no
//
// An answer is used again for a minute if it is yes, for ten seconds if it is no; a right that is taken away counts that long.
// No more than eight are asked for at once: whoever comes with tokens of their own making cannot keep the API server busy.
//
// Thread: the loop's.
#pragma once

#include <map>
#include <string>

#include "async/loop.h"
#include "async/task.h"
#include "base/result.h"
#include "base/secret.h"
#include "kube/client.h"

namespace capstan::kube {

inline constexpr Resource kTokenReviews{"authentication.k8s.io", "v1", "tokenreviews", "TokenReview", false};
inline constexpr Resource kSubjectAccessReviews{"authorization.k8s.io", "v1", "subjectaccessreviews",
                                                "SubjectAccessReview", false};

class AccessReviews {
 public:
  static constexpr Duration kYesLasts = 1min;
  static constexpr Duration kNoLasts = 10s;
  static constexpr int kMostAtOnce = 8;
  static constexpr size_t kMostKept = 256;

  // REQUIRES: both outlive it, and it every call.
  AccessReviews(async::Loop& loop, Client& client) : loop_(loop), client_(client) {}

  // kUnauthenticated: it is nobody's token. kForbidden: they may not. kThrottled: too many ask. Anything else: the API server
  // could not be asked, in its words.
  async::Task<Result<void>> MayGet(Secret token, std::string path);

 private:
  struct Verdict {
    Result<void> may;
    Tick until;
  };
  async::Task<Result<void>> Review(const Secret& token, const std::string& path);
  void Keep(const std::string& question, const Result<void>& may);

  async::Loop& loop_;
  Client& client_;
  int asking_ = 0;
  std::map<std::string, Verdict> kept_;  // by a digest of token and path
};

}  // namespace capstan::kube
