// What watches can still be told, and etcd's backups.
#include "kube/testing/fake_objects.h"

namespace capstan::kube::testing {
namespace {
constexpr size_t kHistory = 20'000;  // records a kind
}

void FakeObjects::Remember(FakeTable& table, HistoryRecord record) {
  table.history.push_back(std::move(record));
  if (table.history.size() <= kHistory) return;
  table.compacted = table.history.front().version;
  table.history.pop_front();
}

// -----------------------------------------------------------------------------------------------------------

void FakeObjects::CompactHistory() {
  for (auto& [name, table] : tables_) {
    table.history.clear();
    table.compacted = version_ + 1;
  }
  ++version_;  // so that a watch from the present version finds it gone, too
}

FakeObjects::Backup FakeObjects::MakeBackup() const {
  Backup backup{version_, {}};
  for (const auto& [name, table] : tables_) backup.objects[name] = table.objects;
  return backup;
}

void FakeObjects::Restore(const Backup& backup) {
  version_ = backup.version;
  for (auto& [name, table] : tables_) {
    const auto at = backup.objects.find(name);
    table.objects = at == backup.objects.end() ? std::map<Key, Stored>() : at->second;
    table.history.clear();
    table.compacted = version_;
  }
}

}  // namespace capstan::kube::testing
