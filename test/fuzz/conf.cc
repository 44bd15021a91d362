// Whatever a user writes as extraConf: reading, merging and hashing it never crash; what is read can be
// written again and then reads the same; a value never leaves its line; and what a look at it costs is in proportion to
// its bytes.
#include "slurm/conf.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "slurm/conf_check.h"
#include "slurm/node_conf.h"
#include "work.h"

using namespace capstan;  // NOLINT: a program of one function

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const slurm::ConfItem required[] = {{"SlurmctldParameters", "enable_configless"}, {"AuthInfo", "use_client_ids"}};
  slurm::MergedOptions(required, text);
  slurm::ConfHash(text);
  if (const auto conf = slurm::NodeConf(text, {}, ""); conf && conf->find_first_of("\n\"'\\") != conf->npos) abort();

  for (const auto file : {slurm::ConfFile::kSlurm, slurm::ConfFile::kCgroup, slurm::ConfFile::kGres,
                          slurm::ConfFile::kSlurmdbd, slurm::ConfFile::kTopology}) {
    const fuzzing::Work work(size, 64 << 20, 1000);
    if (slurm::CheckConf(file, text).size() > slurm::kMostConfFindings) abort();
  }
  slurm::CheckPartition(text);

  const auto one_line = slurm::ConfText().Add("Key", text).Add("After", "1").Build();
  if (one_line && std::ranges::count(*one_line, '\n') != 2) abort();

  const auto lines = slurm::ParseConf(text);
  if (!lines) return 0;
  slurm::ConfText writer;
  for (const slurm::ConfLine& line : *lines) writer.Line(line.items);
  const auto written = writer.Build();
  if (!written) return 0;  // a value that only Slurm's looser reading lets pass
  const auto again = slurm::ParseConf(*written);
  if (!again || again->size() != lines->size()) abort();
  for (size_t i = 0; i < lines->size(); ++i)
    if ((*again)[i].items != (*lines)[i].items) abort();
  return 0;
}
