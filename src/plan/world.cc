#include "plan/world.h"

namespace capstan::plan {

const slurm::Node* SlurmView::Find(std::string_view node) const {
  reads_->Note(World::NodeRead(cluster_, node));
  return look_.snapshot ? look_.snapshot->FindNode(node) : nullptr;
}

std::span<const slurm::Node> SlurmView::All() const {
  reads_->Note(World::NodeRead(cluster_, "*"));
  return look_.snapshot ? std::span<const slurm::Node>(*look_.snapshot->nodes) : std::span<const slurm::Node>();
}

std::vector<const slurm::Node*> SlurmView::By(std::string_view entry) const {
  reads_->Note(World::NodeRead(cluster_, World::EntryName(entry)));
  std::vector<const slurm::Node*> nodes;
  if (!look_.snapshot || !look_.index) return nodes;
  const auto [first, last] = look_.index->equal_range(entry);
  for (auto at = first; at != last; ++at)
    if (const slurm::Node* node = look_.snapshot->FindNode(at->second)) nodes.push_back(node);
  return nodes;
}

const std::vector<slurm::Job>* SlurmView::Jobs() const {
  reads_->Note(World::NodeRead(cluster_, World::kSlurmJobs));
  return look_.snapshot ? look_.snapshot->jobs.get() : nullptr;
}

const std::shared_ptr<const slurm::Job>* SlurmView::FindJob(int64_t id) const {
  reads_->Note(World::NodeRead(cluster_, World::JobName(id)));
  if (!look_.followed) return nullptr;
  const auto found = look_.followed->find(id);
  return found != look_.followed->end() ? &found->second : nullptr;
}

SlurmView World::Slurm(const std::string& cluster) const {
  reads_.Note(NodeRead(cluster, ""));
  SlurmView view;
  view.cluster_ = cluster;
  view.reads_ = &reads_;
  if (parts_.slurm) view.look_ = parts_.slurm(cluster);
  return view;
}

Answer<void> World::AskAny(std::shared_ptr<const Question> question, Duration max_age) const {
  const std::string id = question->id();
  reads_.Note(MakeRead("question", id));
  asked_.push_back({std::move(question), max_age});
  const Answers::Entry* entry = parts_.answers ? parts_.answers->Find(id) : nullptr;
  if (entry == nullptr) return {};
  return {entry->state, entry->value.get(), entry->error, parts_.tick - entry->fetched_at};
}

Duration World::HeldFor(std::string_view fact) const {
  const auto held = parts_.held_since.find(std::string(fact));
  const Tick since = held == parts_.held_since.end() ? parts_.tick : held->second;
  facts_.emplace(fact, since);
  return parts_.tick - since;
}

const Answers::Entry* Answers::Find(const std::string& id) const {
  const auto found = entries_.find(id);
  return found == entries_.end() ? nullptr : &found->second;
}

}  // namespace capstan::plan
