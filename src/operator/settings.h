// What the operator was told at its start and every rendered object may depend on. The same for the whole life of the
// process, and part of the World, so that a Decide stays a function of what it is given.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "plan/world.h"

namespace capstan::op {

struct Settings {
  std::string cluster_domain = "cluster.local";  // of Kubernetes' own DNS names
  std::string image_prefix = "capstan";          // of images that a custom resource does not name
  std::string image_tag = "26.05";
  std::string own_tag = "latest";  // of images that are Capstan's own: its version

  // Types of conditions of Kubernetes nodes: what those that are True say is why a cordoned node is drained in Slurm, where
  // its annotation does not say why.
  std::vector<std::string> propagated_node_conditions = {};

  // The image of one of Slurm's daemons: "capstan/slurmctld:26.05".
  std::string Image(std::string_view daemon) const {
    return image_prefix + "/" + std::string(daemon) + ":" + image_tag;
  }

  // Of what is not Slurm's, but ours: it has Capstan's version.
  std::string OwnImage(std::string_view name) const { return image_prefix + "/" + std::string(name) + ":" + own_tag; }

  // A Service's name from anywhere in the cluster: "main-controller.slurm.svc.cluster.local".
  std::string Fqdn(std::string_view service, std::string_view ns) const {
    return std::string(service) + "." + std::string(ns) + ".svc." + cluster_domain;
  }

  friend bool operator==(const Settings&, const Settings&) = default;
};

// The domain of a Kubernetes cluster as a pod of it finds it in its /etc/resolv.conf: what follows "svc." in the first
// such entry of the search list. "cluster.local" when there is none.
std::string ClusterDomainOf(std::string_view resolv_conf);

// Those of the World; the defaults where it carries none.
inline Settings SettingsOf(const plan::World& world) {
  const Settings* given = world.Settings<Settings>();
  return given != nullptr ? *given : Settings();
}

}  // namespace capstan::op
