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

std::string Coloured(std::string_view colour, const std::string& text, bool colours) {
  return colours ? std::string(colour) + text + std::string(kPlain) : text;
}

// A paragraph each.
std::string FindingsText(const std::vector<Finding>& findings, bool colours) {
  std::string text;
  for (const Finding& finding : findings) {
    const std::string_view colour = finding.severity == Severity::kError ? kRed : kYellow;
    text += Coloured(colour, std::string(Name(finding.severity)), colours) + "  " +
            OneLine(finding.object, kLongestSentence) + " (" + std::string(finding.cause) + ")\n  " +
            OneLine(finding.what, kLongestSentence) + "\n  to do: " + OneLine(finding.todo, kLongestSentence) + "\n\n";
  }
  return text;
}

std::string SentencesText(const std::vector<std::string>& sentences) {
  std::string text;
  for (const std::string& sentence : sentences) text += OneLine(sentence, kLongestSentence) + "\n";
  return text + (sentences.empty() ? "" : "\n");
}

boost::json::array FindingsJson(const std::vector<Finding>& findings) {
  boost::json::array list;
  for (const Finding& finding : findings) {
    list.push_back(boost::json::object{{"severity", Name(finding.severity)},
                                       {"cause", finding.cause},
                                       {"object", finding.object},
                                       {"what", finding.what},
                                       {"todo", finding.todo}});
  }
  return list;
}

boost::json::array TextsJson(const std::vector<std::string>& texts) {
  return boost::json::array(texts.begin(), texts.end());
}

std::string Summary(const VolumeReport& report) {
  const std::string where = report.nodes.empty() ? "" : ", tried on " + Join(report.nodes, " and ");
  const bool unfit = std::ranges::any_of(report.findings, [](const Finding& finding) {
    return finding.cause == "VolumeUnfit" || finding.cause == "NotReadWriteMany";
  });
  const bool tried = unfit || CountOf(report.findings, Severity::kError) == 0;
  const char* outcome = unfit   ? " cannot hold a shared root"
                        : tried ? " can hold a shared root"
                                : " was not tried to the end";
  std::string text = "claim " + report.claim + outcome + where;
  if (report.files_per_second > 0) text += "; " + Count(size_t(report.files_per_second), "file") + " made a second";
  if (report.seen_after_ms > 0)
    text +=
        ", a change on one node is seen on the other and answered in " + std::to_string(report.seen_after_ms) + " ms";
  return text;
}

}  // namespace

std::string TextReport(const std::vector<Finding>& findings, const Cluster& cluster, bool colours) {
  const std::string summary = Summary(findings, cluster);
  return FindingsText(findings, colours) + SentencesText(cluster.not_seen) +
         (findings.empty() ? Coloured(kGreen, summary, colours) : summary) + "\n";
}

std::string JsonReport(const std::vector<Finding>& findings, const Cluster& cluster) {
  return json::Serialize(boost::json::object{{"healthy", findings.empty()},
                                             {"findings", FindingsJson(findings)},
                                             {"notSeen", TextsJson(cluster.not_seen)}}) +
         "\n";
}

std::string TextReport(const VolumeReport& report, bool colours) {
  const std::string summary = Summary(report);
  return FindingsText(report.findings, colours) + SentencesText(report.left) +
         (report.findings.empty() ? Coloured(kGreen, summary, colours) : summary) + "\n";
}

std::string JsonReport(const VolumeReport& report) {
  return json::Serialize(boost::json::object{{"healthy", report.findings.empty()},
                                             {"claim", report.claim},
                                             {"nodes", TextsJson(report.nodes)},
                                             {"filesPerSecond", report.files_per_second},
                                             {"seenAfterMs", report.seen_after_ms},
                                             {"findings", FindingsJson(report.findings)},
                                             {"left", TextsJson(report.left)}}) +
         "\n";
}

}  // namespace capstan::doctor
