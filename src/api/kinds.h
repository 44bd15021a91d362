// The list of custom resources, and what is printed of it: the CustomResourceDefinitions and the reference
// page.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "json/crd.h"

namespace capstan::api {

using KindInfo = json::CustomResource;

// All eight, by kind.
std::span<const KindInfo> Kinds();

// The CustomResourceDefinition as YAML, or as one line of JSON.
std::string CrdYaml(const KindInfo& kind);
std::string CrdJson(const KindInfo& kind);

// "slinky.slurm.net_nodesets.yaml": where the chart keeps it.
std::string CrdFileName(const KindInfo& kind);

// Every kind, field, default and check, as the page docs/reference.md has them.
std::string ReferencePage();

}  // namespace capstan::api
