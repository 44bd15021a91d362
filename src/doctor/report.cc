#include "doctor/report.h"

#include <algorithm>
#include <boost/json.hpp>

#include "base/text.h"
#include "json/value.h"

namespace capstan::doctor {
namespace {

constexpr size_t kLongestSentence = 2000;  // bytes of one sentence
constexpr std::string_view kRed = "\x1b[31m", kYellow = "\x1b[33m", kGreen = "\x1b[32m", kPlain = "\x1b[0m";

std::string_view Name(Severity severity) { return severity == Severity::kError ? "error" : "warning"; }

std::string Count(size_t count, std::string_view what) {
  return std::to_string(count) + " " + std::string(what) + (count == 1 ? "" : "s");
}

size_t CountOf(const std::vector<Finding>& findings, Severity severity) {
  return size_t(std::ranges::count(findings, severity, &Finding::severity));
}

std::string Summary(const std::vector<Finding>& findings, const Cluster& cluster) {
  const std::string looked = Count(cluster.resources.items.size(), "custom resource") +
                             (cluster.scope.empty() ? "" : " in namespace " + cluster.scope.front());
  if (findings.empty()) return "nothing is wrong with " + looked + ", as far as can be seen";
  std::vector<std::string> counts;
  for (const Severity severity : {Severity::kError, Severity::kWarning}) {
    if (const size_t count = CountOf(findings, severity); count > 0) counts.push_back(Count(count, Name(severity)));
  }
  return Join(counts, " and ") + "; looked at " + looked;
}

}  // namespace

std::string TextReport(const std::vector<Finding>& findings, const Cluster& cluster, bool colours) {
  const auto coloured = [&](std::string_view colour, const std::string& text) {
    return colours ? std::string(colour) + text + std::string(kPlain) : text;
  };
  std::string text;
  for (const Finding& finding : findings) {
    text += coloured(finding.severity == Severity::kError ? kRed : kYellow, std::string(Name(finding.severity))) +
            "  " + OneLine(finding.object, kLongestSentence) + " (" + std::string(finding.cause) + ")\n  " +
            OneLine(finding.what, kLongestSentence) + "\n  to do: " + OneLine(finding.todo, kLongestSentence) + "\n\n";
  }
  for (const std::string& sentence : cluster.not_seen) text += OneLine(sentence, kLongestSentence) + "\n";
  if (!cluster.not_seen.empty()) text += "\n";
  return text + (findings.empty() ? coloured(kGreen, Summary(findings, cluster)) : Summary(findings, cluster)) + "\n";
}

std::string JsonReport(const std::vector<Finding>& findings, const Cluster& cluster) {
  boost::json::array list, not_seen;
  for (const Finding& finding : findings) {
    list.push_back(boost::json::object{{"severity", Name(finding.severity)},
                                       {"cause", finding.cause},
                                       {"object", finding.object},
                                       {"what", finding.what},
                                       {"todo", finding.todo}});
  }
  for (const std::string& sentence : cluster.not_seen) not_seen.emplace_back(sentence);
  return json::Serialize(boost::json::object{
             {"healthy", findings.empty()}, {"findings", std::move(list)}, {"notSeen", std::move(not_seen)}}) +
         "\n";
}

}  // namespace capstan::doctor
