// What every long-running program of ours has around its work: an event loop, an end by signal, /healthz and /readyz
// (health.h), and /metrics.
//
//   process::Process process;
//   CAPSTAN_CHECK_OK(process.Serve({.health_address = ":8081", .metrics_address = ":8080"}));
//   process.tasks().Spawn("server", ServeUntilCancelled(...));
//   process.Run();
//
// Thread: all of it belongs to the thread of the loop, which is the one that calls Run.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "async/event.h"
#include "async/loop.h"
#include "async/task_group.h"
#include "base/result.h"
#include "net/metrics.h"
#include "net/server.h"
#include "process/health.h"

namespace capstan::process {

// "slurm-operator capstan/1.0.0": the user agent of `program`, by which an audit log tells who wrote.
std::string Agent(const std::string& program);

// In a pod, the pod's name.
std::string HostName();

// As zap's flag takes it: a name, or a degree of debug, of which there is one here; panic is not told from error. kInvalid:
// neither.
Result<void> SetLogLevel(const std::string& asked);

class Process {
 public:
  // One step of an orderly end.
  using Step = std::function<async::Task<void>()>;

  // Where it listens: "[address]:port", or "0" for nowhere.
  struct Addresses {
    std::string health_address = ":8081";
    std::string metrics_address = ":8080";
    // Null: metrics are for everybody. Otherwise they are served over HTTPS, to those whom it lets in.
    net::HttpServer::Admit admit_to_metrics = {};
  };
  // How long tasks() may take to end.
  static constexpr Duration kStopTimeout = 3s;

  Process();
  ~Process();

  async::Loop& loop() { return loop_; }
  net::Metrics& metrics() { return metrics_; }

  // They run from the start of Run. After SIGTERM or SIGINT they are cancelled.
  async::TaskGroup& tasks() { return tasks_; }

  // /readyz waits until `waiting` returns "", and says what it returned. Asked on the loop's thread, several times a
  // second while something is waited for, once a second otherwise; it must not block.
  void ReadyWhen(std::function<std::string()> waiting);

  // `beat` is called once a second, on the loop's thread.
  void EachSecond(std::function<void()> beat);

  // `append` adds to what metrics() show at /metrics. Called before Serve; `append` on the server's thread, and must not block.
  void Expose(std::function<void(std::string& text)> append) { exposed_ = std::move(append); }

  // Begins to listen, before Run. kInvalid: an address that is none.
  Result<void> Serve(const Addresses& addresses);

  // Runs until SIGTERM, SIGINT or End. After a signal: `first`, then tasks() are cancelled, then `last`, if given.
  // Ends the process without a destructor: what is still suspended ends with it.
  [[noreturn]] void Run(Step first = nullptr, Step last = nullptr);

  // Ends the process at once, with this status.
  void End(int status);

 private:
  async::Task<void> Beat();
  async::Task<void> RenewIdentity();
  async::Task<void> EndTasks();
  async::Task<void> Stop(Step first, Step last);
  std::string Waiting() const;

  net::Metrics metrics_;
  async::RealLoop loop_;
  Health health_;
  async::TaskGroup tasks_;
  async::Event tasks_ended_;
  async::TaskGroup own_;
  std::vector<std::function<std::string()>> waiting_;
  std::vector<std::function<void()>> beats_;
  std::function<void(std::string&)> exposed_;
  net::Histogram* long_turns_ = nullptr;
  std::unique_ptr<net::HttpServer> health_server_;
  std::shared_ptr<net::ServingIdentity> identity_;  // of the metrics, if they are served over HTTPS
  std::unique_ptr<net::HttpServer> metrics_server_;
  int status_ = 0;
};

}  // namespace capstan::process
