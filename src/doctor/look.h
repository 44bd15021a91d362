// Looks at a cluster: fills a Cluster (cluster.h) by reads alone, with the rights of whoever asks.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "async/loop.h"
#include "async/task.h"
#include "doctor/cluster.h"
#include "net/http.h"

namespace capstan::doctor {

struct LookOptions {
  std::string ns = {};  // custom resources and what is made of them are looked at in this one; empty: in all
  // A way to the API server on which every target has `path` in front. nullptr: Slurm is not asked.
  std::function<std::unique_ptr<net::Transport>(const std::string& path)> below = nullptr;
};

// kUnavailable, kUnauthenticated and the like: nothing can be seen at all. Whatever cannot be seen by itself is told in
// Cluster::not_seen. REQUIRES: loop and transport outlive the task.
async::Task<Result<Cluster>> Look(async::Loop& loop, net::Transport& http, LookOptions options);

}  // namespace capstan::doctor
