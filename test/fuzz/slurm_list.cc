// Whatever bytes slurmrestd sends as a list, in whatever pieces: no crash, bounded memory, and the pieces
// never matter.
#include <cstdlib>
#include <string>
#include <string_view>

#include "json/codec.h"
#include "slurm/element_cutter.h"
#include "slurm/gres.h"
#include "slurm/rest_wire.h"

using namespace capstan;  // NOLINT: a program of one function

namespace {

std::string EndOf(const slurm::Job& job) {
  return FormatRfc3339(Later(job.start_time.value_or(Time()), job.time_limit.value_or(Duration())));
}

std::string What(const slurm::Node& node) {
  constexpr int64_t kMebi = 1 << 20;
  return node.state.ToString() + std::to_string(node.job_memory_mib * kMebi) + std::to_string(node.job_cpus * kMebi) +
         std::to_string(slurm::Gres::Parse(node.gres).Count("gpu") * kMebi);
}

std::string Read(std::string_view text, size_t piece, const char* array) {
  std::string seen;
  slurm::ElementCutter cutter(array,
                              [&](std::string_view element) -> Result<void> {
                                auto record = json::Decode<slurm::wire::NodeRecord>(element);
                                seen += record ? What(std::move(*record).ToNode()) : "?";
                                auto job = json::Decode<slurm::wire::JobRecord>(element);
                                seen += job ? EndOf(std::move(*job).ToJob()) : "?";
                                seen += ';';
                                return {};
                              },
                              {.element_bytes = 1 << 12, .rest_bytes = 1 << 12});
  for (size_t at = 0; at < text.size(); at += piece)
    if (!cutter.Feed(text.substr(at, piece))) return seen + "refused";
  if (!cutter.complete()) return seen + "cut off";
  return seen + (json::Decode<slurm::wire::Envelope>(cutter.rest()) ? "good" : "bad");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  for (const char* array : {"nodes", "nodes/nodes", "jobs"})
    if (Read(text, 1 + data[0], array) != Read(text, size, array)) abort();
  return 0;
}
