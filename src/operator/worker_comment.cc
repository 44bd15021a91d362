#include "operator/worker_comment.h"

#include "json/codec.h"

namespace capstan::op {

const json::Schema& WorkerComment::Schema() {
  static const json::Schema schema = json::Object<WorkerComment>({
      json::Field<&WorkerComment::ns>("namespace").Always(),
      json::Field<&WorkerComment::pod>("podName").Always(),
      json::Field<&WorkerComment::node>("node").Always(),
      json::Field<&WorkerComment::set>("nodeSetName"),
      json::Field<&WorkerComment::set_uid>("nodeSetUID"),
      json::Field<&WorkerComment::life>("slurmctldLife"),
  });
  return schema;
}

std::optional<WorkerComment> WorkerComment::Of(const slurm::Node& node) {
  if (!node.comment.starts_with('{')) return std::nullopt;
  auto comment = json::Decode<WorkerComment>(node.comment);
  return comment ? std::optional(*std::move(comment)) : std::nullopt;
}

std::string WorkerComment::ToString() const { return json::Encode(*this); }

}  // namespace capstan::op
