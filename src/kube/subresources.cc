#include "kube/subresources.h"

#include "base/text.h"

namespace capstan::kube {

const json::Schema& Scale::Spec::Schema() {
  static const json::Schema schema = json::Object<Spec>({
      json::Field<&Spec::replicas>("replicas"),
  });
  return schema;
}

const json::Schema& Scale::Status::Schema() {
  static const json::Schema schema = json::Object<Status>({
      json::Field<&Status::replicas>("replicas"),
      json::Field<&Status::selector>("selector"),
  });
  return schema;
}

const json::Schema& Scale::Schema() {
  static const json::Schema schema = json::Object<Scale>({
      json::Field<&Scale::metadata>("metadata"),
      json::Field<&Scale::spec>("spec"),
      json::Field<&Scale::status>("status"),
  });
  return schema;
}

async::Task<Result<Scale>> GetScale(Client& client, Resource resource, Key key, async::Deadline deadline) {
  return client.Get<Scale>(resource, std::move(key), {.subresource = "scale"}, deadline);
}

async::Task<Result<Scale>> SetScale(Client& client, Resource resource, Key key, int64_t replicas, WriteOptions options,
                                    async::Deadline deadline) {
  options.subresource = "scale";
  return client.Patch<Scale>(resource, std::move(key), PatchType::kMerge,
                             R"({"spec":{"replicas":)" + std::to_string(replicas) + "}}", std::move(options), deadline);
}

async::Task<Result<void>> Bind(Client& client, Key pod, std::string uid, std::string node, async::Deadline deadline) {
  std::string binding = R"({"apiVersion":"v1","kind":"Binding","metadata":{"name":)" + JsonQuoted(pod.name) +
                        R"(,"uid":)" + JsonQuoted(uid) + R"(},"target":{"apiVersion":"v1","kind":"Node","name":)" +
                        JsonQuoted(node) + "}}";
  const Result<std::string> bound =
      co_await client.Create(kPods, std::move(pod), std::move(binding), {.subresource = "binding"}, deadline);
  if (!bound) co_return Fail(bound.error());
  co_return Result<void>();
}

async::Task<Result<std::unique_ptr<net::BodyStream>>> OpenLog(Client& client, Key pod, LogOptions options,
                                                              async::Deadline deadline) {
  Query query;
  query.Add("container", options.container).AddIf(options.follow, "follow", "true");
  query.AddIf(options.previous, "previous", "true").AddIf(options.timestamps, "timestamps", "true");
  if (options.tail_lines) query.Add("tailLines", *options.tail_lines);
  if (options.since) query.Add("sinceSeconds", int64_t(*options.since / 1s));
  if (options.limit_bytes) query.Add("limitBytes", *options.limit_bytes);
  return client.OpenSubresource(kPods, std::move(pod), "log", std::move(query), deadline);
}

}  // namespace capstan::kube
