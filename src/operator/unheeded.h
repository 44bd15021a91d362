// Fields that the API accepts and this version does not act on. Each has a sentence, in a table in its kind's folder, that its
// resource answers with as long as somebody asks for it; a test holds that every other field has an effect.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "operator/findings.h"

namespace capstan::op {

template <class Spec>
struct Unheeded {
  std::string_view field;  // below spec; stands for all below it, too
  std::string_view sentence;
  bool (*asked)(const Spec& spec);  // given the spec with its defaults
};

// Names what `spec` asks for in vain.
template <class Spec>
void AddUnheeded(const Spec& spec, std::span<const Unheeded<Spec>> fields, Findings& findings) {
  for (const Unheeded<Spec>& field : fields) {
    if (field.asked(spec))
      findings.Remark("NotSupported", "spec." + std::string(field.field) + " " + std::string(field.sentence));
  }
}

}  // namespace capstan::op
