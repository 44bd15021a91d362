// A Collector before a slurmrestd that answers each path with a stored text, in virtual time.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "async/loop.h"
#include "async/task_group.h"
#include "async/timer.h"
#include "exporter/collector.h"
#include "net/http.h"

namespace capstan::exporter {

class CannedSlurm final : public net::Transport {
 public:
  // By what follows the version in a target: "nodes/", without its query.
  std::map<std::string, std::string, std::less<>> bodies = {
      {"nodes/", R"({"nodes":[]})"},
      {"jobs/", R"({"jobs":[]})"},
      {"partitions/", R"({"partitions":[]})"},
      {"licenses/", R"({"licenses":[]})"},
      {"reservations/", R"({"reservations":[]})"},
      {"shares", R"({"shares":{"shares":[],"total_shares":0}})"},
      {"diag/", R"({"statistics":{}})"},
      {"ping/", R"({"pings":[{"hostname":"c0","responding":true,"primary":true}]})"}};
  std::map<std::string, std::string, std::less<>> first;  // the answer to the first request, where it is another
  std::map<std::string, int, std::less<>> asked;
  std::map<std::string, Duration, std::less<>> takes;
  bool away = false;

  explicit CannedSlurm(async::Loop& loop) : loop_(loop) {}

  async::Task<Result<net::Response>> Send(net::Request request, async::Deadline) override {
    CAPSTAN_CO_TRY(std::string body, co_await Answer(request.target));
    co_return net::Response{200, {{"Content-Type", "application/json"}}, std::move(body)};
  }

  async::Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request request, async::Deadline) override {
    CAPSTAN_CO_TRY(std::string body, co_await Answer(request.target));
    co_return std::make_unique<Stream>(std::move(body));
  }

 private:
  class Stream final : public net::BodyStream {
   public:
    explicit Stream(std::string body) : body_(std::move(body)) {}
    int status() const override { return 200; }
    const net::Headers& headers() const override { return headers_; }
    async::Task<Result<size_t>> Read(std::span<char> buffer, async::Deadline) override {
      const size_t count = std::min({buffer.size(), body_.size(), size_t{700}});
      std::copy_n(body_.begin(), count, buffer.begin());
      body_.erase(0, count);
      co_return count;
    }

   private:
    std::string body_;
    net::Headers headers_ = {{"Content-Type", "application/json"}};
  };

  async::Task<Result<std::string>> Answer(std::string target) {
    const size_t version = target.find('/', std::string("/slurm/").size());
    std::string path = target.substr(version + 1);
    path = path.substr(0, path.find('?'));
    ++asked[path];
    co_await async::Sleep(loop_, takes[path]);
    if (away) co_return Fail(Code::kUnavailable, "connection refused");
    if (asked[path] == 1 && first.contains(path)) co_return first[path];
    co_return bodies[path];
  }

  async::Loop& loop_;
};

class ExporterTest : public ::testing::Test {
 protected:
  ~ExporterTest() override {
    tasks.Cancel();
    loop.RunUntil([this] { return tasks.size() == 0; }, 1h);
  }

  // Collects until everything has been asked for once.
  void Start(Collector::Options options = {}) {
    collector.emplace(loop, client, std::move(options));
    auto run = [](Collector& one) -> async::Task<void> { co_await one.Run(); };
    tasks.Spawn("collector", run(*collector));
    ASSERT_TRUE(loop.RunUntil([this] { return collector->has_begun(); }, 10min));
  }

  std::string Text() const {
    std::string text;
    collector->AppendTo(text);
    return text;
  }

  // The value of that series, as it is written; "": there is none.
  std::string Value(const std::string& series) const {
    const std::string text = "\n" + Text(), line = "\n" + series + " ";
    const size_t at = text.find(line);
    return at == std::string::npos ? "" : text.substr(at + line.size(), text.find('\n', at + 1) - at - line.size());
  }

  async::VirtualLoop loop;
  CannedSlurm slurm{loop};
  slurm::RestClient client{loop, slurm, [](Duration) -> Result<Secret> { return Secret("token"); }};
  async::TaskGroup tasks{loop};
  std::optional<Collector> collector;
};

}  // namespace capstan::exporter
