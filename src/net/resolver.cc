#include "net/resolver.h"

#include <netdb.h>

#include <cerrno>
#include <cstring>
#include <mutex>
#include <system_error>
#include <thread>

namespace capstan::net {
namespace {

using Addresses = Result<std::vector<Address>>;

Addresses Ask(const std::string& host, uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list);
  if (error != 0) {
    const char* const why = error == EAI_SYSTEM ? std::strerror(errno) : gai_strerror(error);
    return Fail(Code::kUnavailable, "the name \"" + host + "\" cannot be resolved: " + why);
  }
  std::vector<Address> addresses;
  for (const addrinfo* info = list; info; info = info->ai_next) {
    Address& address = addresses.emplace_back();
    std::memcpy(&address.storage, info->ai_addr, info->ai_addrlen);
    address.size = info->ai_addrlen;
  }
  freeaddrinfo(list);
  return addresses;
}

}  // namespace

// Shared by the Resolver, those who wait, and the thread that asks.
struct Resolver::Question {
  explicit Question(async::Loop& l) : answered(l), loop(&l) {}

  // The loop's thread only:
  async::Event answered;
  std::optional<Addresses> answer;

  std::mutex mutex;
  async::Loop* loop;  // nullptr once nobody is there to be told
};

Result<std::vector<Address>> Resolver::AskSystem(const std::string& host, uint16_t port) { return Ask(host, port, 0); }

Resolver::Resolver(async::Loop& loop, Lookup lookup) : loop_(loop), lookup_(std::move(lookup)) {}

Resolver::~Resolver() {
  if (!asked_) return;
  const std::lock_guard lock(asked_->mutex);
  asked_->loop = nullptr;
}

bool Resolver::asking() const { return asked_ && !asked_->answer; }

async::Task<Addresses> Resolver::Resolve(std::string host, uint16_t port, async::Deadline deadline) {
  if (Addresses numeric = Ask(host, port, AI_NUMERICHOST)) co_return numeric;
  if (!asking()) {
    asked_ = std::make_shared<Question>(loop_);
    auto ask = [question = asked_, lookup = lookup_, host, port] {
      Addresses answer = lookup(host, port);
      const std::lock_guard lock(question->mutex);
      if (!question->loop) return;
      question->loop->Post([question, answer = std::move(answer)]() mutable {
        question->answer = std::move(answer);
        question->answered.Set();
      });
    };
    try {
      std::thread(std::move(ask)).detach();
    } catch (const std::system_error& error) {
      asked_.reset();
      co_return Fail(Code::kUnavailable, std::string("no thread to resolve names: ") + error.what());
    }
  }
  const std::shared_ptr<Question> question = asked_;
  if (!co_await question->answered.Wait(deadline)) {
    co_return Fail(Code::kDeadline, "the name \"" + host + "\" was not resolved in time");
  }
  if (asked_ == question) asked_.reset();
  co_return *question->answer;
}

}  // namespace capstan::net
