#include "entry/identity.h"

#include <array>
#include <utility>

#include "base/command_line.h"
#include "base/text.h"
#include "entry/process.h"

namespace capstan::entry {
namespace {

constexpr std::array<std::string_view, 1> kName = {"-N"};
constexpr auto kAnswerKept = std::chrono::milliseconds(100);

}  // namespace

std::string SettleNodeName(const std::string& wanted, std::string_view host, std::vector<std::string>* arguments) {
  const std::string own(host.substr(0, host.find('.')));  // as slurmd has it
  std::string name = wanted;
  for (const TakenOption& taken : TakeOptions(kSlurmdSyntax, kName, arguments)) {
    if (wanted.empty())
      name = taken.value;
    else if (taken.value != wanted)
      Say("-N " + taken.value + " is left out: slurmd is " + wanted + " in Slurm, as its operator knows it");
  }
  if (name.empty()) return own;
  if (name != own) arguments->insert(arguments->end(), {"-N", name});
  return name;
}

std::string IdentityText(std::string_view node, bool steps) {
  return "{\"node\": " + JsonQuoted(node) + ", \"steps\": " + (steps ? "true" : "false") + "}\n";
}

Result<Identity> Identity::Listen(uint16_t port, std::string node, HasSteps has_steps) {
  CAPSTAN_TRY(Answerer answerer, Answerer::Listen(port));
  return Identity(std::move(answerer), std::move(node), std::move(has_steps));
}

bool Identity::Serve(Answerer::Clock::time_point now) {
  bool asked = false;
  answerer_.Serve(now, [&](std::string_view path) -> Answerer::Answer {
    if (path != "/slurmd") return {};
    asked = true;
    if (!made_ || now - *made_ >= kAnswerKept) {
      text_ = IdentityText(node_, has_steps_());
      made_ = now;
    }
    return {"200 OK", text_};
  });
  return asked;
}

}  // namespace capstan::entry
