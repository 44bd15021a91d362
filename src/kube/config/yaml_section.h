// One map of a YAML file, and how to name its fields in messages. Internal to kubeconfig.cc.
#pragma once

#include <yaml-cpp/yaml.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace capstan::kube {

// Every read gives what is there, the empty value when the field is absent or null, and kInvalid with file and
// field when it is something else than was asked for. May throw YAML::Exception.
struct Section {
  YAML::Node node;
  std::string file;
  std::string field;  // "users[admin].user"; empty for the file's root

  std::unexpected<Error> Wrong(std::string_view name, std::string_view what) const {
    return Fail(Code::kInvalid, Place(name) + ": " + std::string(what));
  }
  std::string Place(std::string_view name) const { return file + ": " + FieldOf(name); }
  std::string FieldOf(std::string_view name) const;

  bool Has(const char* name) const { return node.IsMap() && node[name] && !node[name].IsNull(); }

  Result<std::string> Text(const char* name) const;
  Result<std::string> Path(const char* name) const;  // as seen from the file's folder
  Result<bool> Flag(const char* name) const;
  Result<std::vector<std::string>> Texts(const char* name) const;
  Result<std::map<std::string, std::vector<std::string>>> TextLists(const char* name) const;
  Result<std::string> Json(const char* name) const;              // whatever it is, as JSON
  Result<Section> Map(const char* name) const;                   // must be there
  Result<std::vector<Section>> Entries(const char* name) const;  // a list of maps
};

}  // namespace capstan::kube
