#include "api/common.h"

#include <cmath>

#include "api/tables.h"

namespace capstan::api {

using json::Field;

// The API server replaces a selector as a whole: half of one means nothing.
const json::Schema& SecretKeySelector::Schema() {
  static const json::Schema schema =
      json::Object<SecretKeySelector>(
          {
              Field<&SecretKeySelector::key>("key").Required().MaxLength(kLongestName).Doc("Which key of the Secret."),
              Field<&SecretKeySelector::name>("name")
                  .Default("\"\"")
                  .MaxLength(kLongestName)
                  .Doc("Name of the Secret."),
              Field<&SecretKeySelector::optional>("optional").Doc("Accepted for compatibility; has no effect."),
          })
          .Atomic();
  return schema;
}

const json::Schema& ConfigMapKeySelector::Schema() {
  static const json::Schema schema =
      json::Object<ConfigMapKeySelector>(
          {
              Field<&ConfigMapKeySelector::key>("key")
                  .Required()
                  .MaxLength(kLongestName)
                  .Doc("Which key of the ConfigMap."),
              Field<&ConfigMapKeySelector::name>("name")
                  .Default("\"\"")
                  .MaxLength(kLongestName)
                  .Doc("Name of the ConfigMap."),
              Field<&ConfigMapKeySelector::optional>("optional").Doc("Accepted for compatibility; has no effect."),
          })
          .Atomic();
  return schema;
}

const json::Schema& LocalObjectReference::Schema() {
  static const json::Schema schema =
      json::Object<LocalObjectReference>({
                                             Field<&LocalObjectReference::name>("name")
                                                 .Default("\"\"")
                                                 .MaxLength(kLongestName)
                                                 .Doc("Name of the object, in this namespace."),
                                         })
          .Atomic();
  return schema;
}

const json::Schema& Metadata::Schema() {
  static const json::Schema schema = json::Object<Metadata>({
      Field<&Metadata::annotations>("annotations").Nullable().Doc("Annotations to add."),
      Field<&Metadata::labels>("labels").Nullable().Doc("Labels to add. Those that select the pods cannot be changed."),
  });
  return schema;
}

const json::Schema& PodTemplate::Schema() {
  static const json::Schema schema = json::Object<PodTemplate>({
      Field<&PodTemplate::metadata>("metadata").Doc("Labels and annotations of the pods."),
      Field<&PodTemplate::spec>("spec").Doc(kPodSpecDoc),
  });
  return schema;
}

const json::Schema& ServiceSpec::Schema() {
  static const json::Schema schema = json::Object<ServiceSpec>({
      Field<&ServiceSpec::metadata>("metadata").Doc("Labels and annotations of the Service."),
      Field<&ServiceSpec::node_port>("nodePort")
          .Minimum(0)
          .Maximum(65535)
          .Doc("Port on every node, for a Service of type NodePort or LoadBalancer."),
      Field<&ServiceSpec::port>("port").Minimum(0).Maximum(65535).Doc(
          "Port of the Service; absent or 0: the daemon's own."),
      Field<&ServiceSpec::spec>("spec").Doc("Part of a core/v1 ServiceSpec. The daemon's port and selector "
                                            "are added; externalIPs are always dropped."),
  });
  return schema;
}

const json::Schema& ExternalConfig::Schema() {
  static const json::Schema schema = json::Object<ExternalConfig>({
      Field<&ExternalConfig::host>("host").Required().Doc("Host name or address, as pods here resolve it."),
      Field<&ExternalConfig::port>("port").Required().Minimum(0).Maximum(65535).Doc(
          "Port it listens on; 0: the daemon's own."),
  });
  return schema;
}

std::optional<Duration> ParseGoDuration(std::string_view text) {
  constexpr struct {
    std::string_view name;
    double nanoseconds;
  } kUnits[] = {{"ns", 1},   {"us", 1e3}, {"\xC2\xB5s", 1e3}, {"\xCE\xBCs", 1e3},
                {"ms", 1e6}, {"s", 1e9},  {"m", 6e10},        {"h", 3.6e12}};
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text == "0") return Duration::zero();
  if (text.empty()) return std::nullopt;
  double total = 0;
  while (!text.empty()) {
    const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
    const std::string number(text.substr(0, digits));
    if (number.empty() || number == "." || number.find('.') != number.rfind('.')) return std::nullopt;
    text.remove_prefix(digits);
    const size_t unit_size = std::min(text.find_first_of("0123456789."), text.size());
    double unit = 0;
    for (const auto& known : kUnits) {
      if (text.substr(0, unit_size) == known.name) unit = known.nanoseconds;
    }
    if (unit == 0) return std::nullopt;
    text.remove_prefix(unit_size);
    total += std::strtod(number.c_str(), nullptr) * unit;
  }
  if (total > 9.2e18) return std::nullopt;
  return Duration(int64_t(std::llround(negative ? -total : total)));
}

}  // namespace capstan::api
