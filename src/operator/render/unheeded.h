// Fields that the API accepts and this version does not act on. Each has a sentence here that its resource answers with as
// long as somebody asks for it; a test holds that every other field has an effect.
#pragma once

#include <span>
#include <string_view>

#include "api/controller.h"
#include "api/nodeset.h"
#include "operator/render/conditions.h"

namespace capstan::op::render {

template <class Spec>
struct Unheeded {
  std::string_view field;  // below spec; stands for all below it, too
  std::string_view sentence;
  bool (*asked)(const Spec& spec);  // given the spec with its defaults
};

std::span<const Unheeded<api::NodeSetSpec>> UnheededOf(const api::NodeSetSpec&);
std::span<const Unheeded<api::ControllerSpec>> UnheededOf(const api::ControllerSpec&);

// Names what `spec` asks for in vain. Goes last: the first problem gives a condition its reason.
template <class Spec>
void AddUnheeded(const Spec& spec, Findings& findings) {
  for (const Unheeded<Spec>& field : UnheededOf(spec)) {
    if (field.asked(spec))
      findings.Problem("NotSupported", "spec." + std::string(field.field) + " " + std::string(field.sentence));
  }
}

}  // namespace capstan::op::render
