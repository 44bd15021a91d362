// A World of the operator's kinds, built by hand (plan/testing/world.h), in the namespace slurm.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/accounting.h"
#include "api/controller.h"
#include "api/loginset.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "api/token.h"
#include "base/hash.h"
#include "operator/kind.h"
#include "operator/objects.h"
#include "operator/questions.h"
#include "plan/testing/world.h"

namespace capstan::op::test {

using plan::testing::ActionNames;
using plan::testing::BodyOf;
using plan::testing::ChildNames;
using plan::testing::ConditionOf;

class TestWorld : public plan::testing::TestWorld {
 public:
  TestWorld() : plan::testing::TestWorld("slurm") { AddStores(&op::AddStores); }

  // The Secret or ConfigMap has these keys; each text of `content` stands for other bytes.
  void Secret(const std::string& name, std::vector<std::string> keys, const std::string& content = "x") {
    SecretDigest::Value value;
    for (std::string& key : keys) value.digests.emplace(std::move(key), Sha256Hex(content));
    Answer("secret slurm/" + name, std::make_shared<const SecretDigest::Value>(std::move(value)));
  }
  void Files(const std::string& name, std::vector<std::string> keys, const std::string& content = "x") {
    std::map<std::string, std::string> files;
    for (const std::string& key : keys) files.emplace(key, Sha256Hex(content));
    Answer("configmap slurm/" + name,
           std::make_shared<const ConfigMapDigest::Value>(ConfigMapDigest::Value{
               .sha256 = Sha256Hex(content), .keys = std::move(keys), .files = std::move(files)}));
  }
};

}  // namespace capstan::op::test
