// slurm.conf and cgroup.conf of a cluster, as texts made from typed values.
//
// The same values give the same bytes. A text that slurmctld would not start with is refused here with one sentence;
// the caller then keeps what was published last.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "operator/controller/conf_lines.h"
#include "slurm/conf.h"

namespace capstan::op::controller {

// A NodeSet of the cluster. Its name in Slurm is also the feature by which its nodes are found.
struct ConfigNodeSet {
  std::string name;  // in Slurm
  bool partition = false;
  std::string partition_config;  // further items of the PartitionName line: "State=UP Default=YES"
  std::string where;             // the NodeSet's own name, for messages
};

struct ConfigAccounting {
  std::string host;
  int port = 0;
};

// A partition that nobody asks for any more, and that jobs may name (departed.h).
struct ConfigDeparted {
  std::string name;
  std::vector<std::vector<slurm::ConfItem>> lines;  // of its NodeSets, and its own
};

inline constexpr size_t kMostDeparted = 100;

inline constexpr int kMostNodes = 1024;  // that slurmctld takes, unless extraConf says otherwise

struct Config {
  std::string ns;
  std::string controller;    // the Controller's name
  std::string cluster_name;  // ClusterName
  int replicas = 1;
  // slurmctld's pod has no name of its own: its StatefulSet is governed by the Service of the clients, which has a cluster
  // address, as an older release made it. REQUIRES then: one replica.
  bool pod_without_name = false;
  bool jwks = false;
  bool metrics = false;
  bool power = false;  // some NodeSet is on demand (nodeset/power.h)
  bool ssh = false;    // some workers let people in by SSH while they have a job there
  std::optional<ConfigAccounting> accounting;
  // File names of scripts in /etc/slurm; written sorted, each once.
  std::vector<std::string> prolog_slurmctld, epilog_slurmctld, prolog, epilog;
  std::vector<ConfigNodeSet> node_sets;  // in the order they are to be written
  std::vector<ConfigDeparted> departed;  // likewise; kMostDeparted at most
  ConfSource extra_conf;                 // the user's own lines

  // What is there besides. (partitions.h)
  std::set<std::string> taken;     // names that nodes of Slurm have, and that no line may make a NodeSet of
  std::set<std::string> included;  // partitions of files that extra_conf includes
  ConfSource published;            // slurm.conf as it is published; "": none is
  bool is_lost = false;            // none is, and slurmctld may run with one
};

// slurmdbd is there, or may be: a file that extra_conf includes may say so, or a line that cannot be read.
bool HasAccounting(const Config& config);

// kInvalid: Slurm could not read a value or the user's lines, or they name nodes that slurmctld may not have; says where, and what would be
// right. What is wrong with the published text likewise is let pass. `doubts`, unless it is nullptr, becomes what the Slurm that
// is known here would not take, and a newer one might; the first few.
Result<std::string> SlurmConf(const Config& config, std::vector<std::string>* doubts = nullptr);

// The ClusterName in a slurm.conf made by SlurmConf; "": the text is not one as it was made.
std::string ClusterNameIn(std::string_view slurm_conf);

// slurm.conf for slurmrestd beside a slurmctld outside of Kubernetes, at host:port.
Result<std::string> ExternalSlurmConf(const Config& config, const std::string& host, int port);

std::string CgroupConf();

}  // namespace capstan::op::controller
