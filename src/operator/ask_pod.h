// A question to a container of ours.
#pragma once

#include <string>

#include "async/deadline.h"
#include "async/task.h"
#include "base/result.h"
#include "net/http.h"
#include "plan/services.h"

namespace capstan::op {

// GET of `path` from the port of a pod that has this address, within `limit` and the deadline. kUnavailable: there is no way to
// pods, as in a test.
async::Task<Result<net::Response>> AskPod(plan::Services& services, std::string address, int port, std::string path,
                                          Duration limit, async::Deadline deadline);

// Nobody listens at that port of the pod.
bool IsNobodyThere(const Error& error);

}  // namespace capstan::op
