// The texts of the watch protocol, decoded.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "json/schema.h"

namespace capstan::kube {

// What one line of a watch said. The object itself has gone into the store.
struct WatchEvent {
  enum class Type : uint8_t { kAdded, kModified, kDeleted, kBookmark, kError };
  Type type = Type::kBookmark;
  uint64_t version = 0;                       // of the object, or that the bookmark vouches for
  bool list_complete = false;                 // a bookmark that ends the initial events of a streaming list
  std::optional<Error> error = std::nullopt;  // kError: kGone when the version to begin from is too old
};

// What a page of a list said besides its objects.
struct PageInfo {
  uint64_t version = 0;        // the whole list's; the same on every page
  std::string continue_token;  // empty: this was the last page
  static const json::Schema& Schema();
};

template <class T>
struct WatchLine {
  std::string type;
  T object;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<WatchLine>({
        json::Field<&WatchLine::type>("type"),
        json::Field<&WatchLine::object>("object"),
    });
    return schema;
  }
};

template <class T>
struct ListPage {
  PageInfo metadata;
  std::vector<T> items;
  static const json::Schema& Schema() {
    static const json::Schema schema = json::Object<ListPage>({
        json::Field<&ListPage::metadata>("metadata"),
        json::Field<&ListPage::items>("items"),
    });
    return schema;
  }
};

}  // namespace capstan::kube
