#include "api/tables.h"

namespace capstan::api {

std::string ContainerDoc(std::string_view name) {
  return "Part of a core/v1 Container, laid over the container \"" + std::string(name) +
         "\". args are added behind Capstan's own.";
}

json::Member ControllerRefField(json::Member member) {
  return std::move(member)
      .Required()
      .Rule("self.name != ''", "controllerRef.name must not be empty, it must name the Controller of the cluster")
      .Doc("The Controller of the Slurm cluster this belongs to.");
}

json::Member SpecField(json::Member member, std::string_view doc) { return std::move(member).Doc(doc); }

json::Member StatusField(json::Member member) { return std::move(member).Doc("What was seen; written by Capstan."); }

}  // namespace capstan::api
