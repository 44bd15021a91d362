#include "kube/testing/apiserver_environment.h"

#include <cassert>
#include <utility>

namespace capstan::kube::testing {
namespace {

RealApiserver* running = nullptr;

}  // namespace

ApiserverEnvironment::ApiserverEnvironment(RealApiserver::Options options) : options_(std::move(options)) {}

void ApiserverEnvironment::SetUp() {
  auto server = RealApiserver::Start(options_);
  ASSERT_TRUE(server) << "no API server, so nothing can be tested: " << server.error().message();
  server_ = *std::move(server);
  running = server_.get();
}

void ApiserverEnvironment::TearDown() {
  running = nullptr;
  server_.reset();
}

RealApiserver& Apiserver() {
  assert(running && "the program has no ApiserverEnvironment, or no test is running");
  return *running;
}

}  // namespace capstan::kube::testing
