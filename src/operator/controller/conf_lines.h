// The lines of a slurm.conf that others must agree with. Such a text may have a megabyte: it is read once for all of them.
#pragma once

#include <concepts>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "slurm/conf.h"
#include "slurm/hostlist.h"

namespace capstan::op::controller {

struct ConfLines {
  explicit ConfLines(std::string_view text);
  ConfLines(const ConfLines&) = delete;
  ConfLines& operator=(const ConfLines&) = delete;

  // Of an option that stands there more than once the last counts; "": none, or the text cannot be read. REQUIRES: the option is
  // AccountingStorageEnforce, AccountingStorageType, ClusterName or MaxNodeCount.
  std::string Last(std::string_view option) const;

  // The nodes and NodeSets that `defining` defines, as far as HostIndex has room for them.
  slurm::HostIndex Defined() const;

  // kInvalid, with the line: slurmctld would not read the text. The rest is then of the lines that can be read.
  Result<void> readable;
  // That begin with PartitionName or NodeSet; of those that begin with NodeName the first item alone.
  std::vector<slurm::ConfLine> defining;
  std::vector<std::string> included;  // files, by Include
  // Of `defining`, by name; of each name the first. A line for DEFAULT is none.
  std::map<std::string, const std::vector<slurm::ConfItem>*> partitions, node_sets;

 private:
  void Take(const slurm::ConfLine& line);

  std::map<std::string, std::string, std::less<>> last_;  // by lower-case option
};

// A text, which is read when somebody asks for its lines. Not thread-safe.
class ConfSource {
 public:
  ConfSource() = default;
  template <std::convertible_to<std::string_view> T>
  ConfSource(const T& text) : text_(std::string_view(text)) {}

  const std::string& text() const { return text_; }
  bool empty() const { return text_.empty(); }
  const ConfLines& lines() const {
    if (lines_ == nullptr) lines_ = std::make_shared<const ConfLines>(text_);
    return *lines_;
  }

 private:
  std::string text_;
  mutable std::shared_ptr<const ConfLines> lines_;
};

}  // namespace capstan::op::controller
