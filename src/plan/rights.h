// What a program may do on the API server, said once, where the need arises: beside its reconcilers. Its roles are printed
// from this, and a modelled API server refuses what is not granted.
//
// Values; no I/O, any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "kube/resource.h"

namespace capstan::plan {

struct Reconciler;

struct Right {
  const kube::Resource* resource = nullptr;
  std::string_view verbs;             // RBAC's, in any order: "get list watch"
  std::string_view subresource = {};  // "status"
};

// A rule of a Role, as the API server reads it.
struct RbacRule {
  std::string group;
  std::vector<std::string> resources;  // "pods", "pods/status"; sorted
  std::vector<std::string> verbs;      // in kubectl's order
  friend bool operator==(const RbacRule&, const RbacRule&) = default;
};

// What the engine does for these reconcilers, and what they say that they use: their objects are read and their status
// written, their children are read, applied and pruned, Events are told.
std::vector<Right> RightsOf(std::span<const Reconciler> reconcilers);

// The fewest rules that grant just these rights: of kinds with namespaces, or of those without.
std::vector<RbacRule> RulesOf(std::span<const Right> rights, bool namespaced);

// The rules as YAML, a list for a Role.
std::string RulesText(std::span<const RbacRule> rules);

// Whether `verb` ("get", "patch") on a resource or its subresource is among the rights.
bool Grants(std::span<const Right> rights, const kube::Resource& resource, std::string_view subresource,
            std::string_view verb);

}  // namespace capstan::plan
