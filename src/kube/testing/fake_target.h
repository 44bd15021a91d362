// What a request's path and query name on the modelled API server.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "kube/testing/fake_objects.h"
#include "kube/testing/fake_watch.h"

namespace capstan::kube::testing {

struct FakeTarget {
  FakeTable* table = nullptr;
  Key key;  // without a name: the collection, of one namespace or of all
  std::string subresource;
  std::map<std::string, std::string, std::less<>> query;
  bool existed = false;  // an object of this key was there when the request came

  // 404: no such path, or the kind is not served.
  static Answered<FakeTarget> Parse(std::string_view target, FakeObjects& objects);

  std::string Parameter(std::string_view name) const;  // "" when absent
  // The objects that namespace and selectors name. kInvalid: a selector that is none.
  Result<FakeWatchRequest> Selection() const;
  std::string Title() const;  // pods "w-0"
};

}  // namespace capstan::kube::testing
