// What the operator would make for files of custom resources: the real Decides (operator/kind.h) over a World that is built
// from the files, round by round, until nothing new is wanted.
//
// What is made of keys and other Secrets that are not in the files goes by stand-ins: the objects have their form, and a
// digest in an annotation is that of nothing.
#pragma once

#include <string>
#include <vector>

#include "async/loop.h"
#include "async/task.h"
#include "base/result.h"
#include "json/value.h"
#include "kube/resource.h"
#include "net/http.h"
#include "operator/settings.h"

namespace capstan::render {

struct Options {
  op::Settings settings = {};
  std::string ns = "default";         // of objects that name none
  net::Transport* cluster = nullptr;  // asked for single objects that are not in the files; nullptr: nobody is
};

struct Rendered {
  struct Object {
    const kube::Resource* resource = nullptr;
    kube::Key key;
    json::Value body;  // without owner references to objects of which no uid is known
  };
  std::vector<Object> objects;
  // A sentence each. What is made without being shown here, or stands for several; what is named and not there.
  std::vector<std::string> notes, missing;
  std::vector<std::string> problems;  // custom resources of which something cannot be made, and why
  bool stand_ins = false;             // digests of some Secrets are those of nothing
};

// `files`: any objects; only custom resources, Secrets and ConfigMaps among them count. kInvalid: there is no custom resource
// among them. Other errors are the cluster's. REQUIRES: loop, and the cluster, outlive the task.
async::Task<Result<Rendered>> Render(async::Loop& loop, std::vector<json::Value> files, Options options);

}  // namespace capstan::render
