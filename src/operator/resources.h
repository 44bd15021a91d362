// The custom resources as the API server serves them.
#pragma once

#include "api/accounting.h"
#include "api/controller.h"
#include "api/loginset.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "api/token.h"
#include "kube/resource.h"
#include "plan/stores.h"

namespace capstan::op {

inline constexpr kube::Resource kControllers{"slinky.slurm.net", "v1beta1", "controllers", "Controller", true};
inline constexpr kube::Resource kAccountings{"slinky.slurm.net", "v1beta1", "accountings", "Accounting", true};
inline constexpr kube::Resource kRestApis{"slinky.slurm.net", "v1beta1", "restapis", "RestApi", true};
inline constexpr kube::Resource kLoginSets{"slinky.slurm.net", "v1beta1", "loginsets", "LoginSet", true};
inline constexpr kube::Resource kNodeSets{"slinky.slurm.net", "v1beta1", "nodesets", "NodeSet", true};
inline constexpr kube::Resource kTokens{"slinky.slurm.net", "v1beta1", "tokens", "Token", true};

}  // namespace capstan::op

namespace capstan::plan {

template <>
struct ResourceOf<api::Controller> {
  static constexpr const kube::Resource& kValue = op::kControllers;
};
template <>
struct ResourceOf<api::Accounting> {
  static constexpr const kube::Resource& kValue = op::kAccountings;
};
template <>
struct ResourceOf<api::RestApi> {
  static constexpr const kube::Resource& kValue = op::kRestApis;
};
template <>
struct ResourceOf<api::LoginSet> {
  static constexpr const kube::Resource& kValue = op::kLoginSets;
};
template <>
struct ResourceOf<api::NodeSet> {
  static constexpr const kube::Resource& kValue = op::kNodeSets;
};
template <>
struct ResourceOf<api::Token> {
  static constexpr const kube::Resource& kValue = op::kTokens;
};

}  // namespace capstan::plan
