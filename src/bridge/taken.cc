#include "bridge/taken.h"

#include <algorithm>
#include <map>

namespace capstan::bridge {
namespace {

using kube::Quantity;

Result<Quantity> QuantityOf(const std::map<std::string, std::string>& list, const std::string& resource) {
  const auto found = list.find(resource);
  return found == list.end() ? Result<Quantity>(Quantity()) : Quantity::Parse(found->second);
}

// One side, requests or limits, of the pod.
Result<Quantity> Sum(const Pod& pod, const std::string& resource,
                     std::map<std::string, std::string> Resources::* side) {
  Quantity running, largest;
  for (const Container& container : pod.spec.init_containers) {
    CAPSTAN_TRY(const Quantity own, QuantityOf(container.resources.*side, resource));
    const bool sidecar = container.restart_policy == "Always";
    largest = std::max(largest, running + own);
    if (sidecar) running += own;
  }
  for (const Container& container : pod.spec.containers) {
    CAPSTAN_TRY(const Quantity own, QuantityOf(container.resources.*side, resource));
    running += own;
  }
  Quantity sum = std::max(running, largest);
  CAPSTAN_TRY(const Quantity whole, QuantityOf(pod.spec.resources.*side, resource));
  if (!whole.is_zero()) sum = whole;
  CAPSTAN_TRY(const Quantity overhead, QuantityOf(pod.spec.overhead, resource));
  return sum.is_zero() ? sum : sum + overhead;
}

}  // namespace

Result<Quantity> Requested(const Pod& pod, const std::string& resource) {
  return Sum(pod, resource, &Resources::requests);
}

Result<Quantity> Taken(const Pod& pod, const std::string& resource) {
  CAPSTAN_TRY(const Quantity requests, Sum(pod, resource, &Resources::requests));
  CAPSTAN_TRY(const Quantity limits, Sum(pod, resource, &Resources::limits));
  return std::max(requests, limits);
}

}  // namespace capstan::bridge
