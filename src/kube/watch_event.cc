#include "kube/watch_event.h"

namespace capstan::kube {

const json::Schema& PageInfo::Schema() {
  static const json::Schema schema = json::Object<PageInfo>({
      json::Field<&PageInfo::version>("resourceVersion").AsText().Number(2),
      json::Field<&PageInfo::continue_token>("continue").Number(3),
  });
  return schema;
}

}  // namespace capstan::kube
