#include "async/task_group.h"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>
#include <boost/system/system_error.hpp>
#include <cstdlib>

#include "base/log.h"

namespace asio = boost::asio;

namespace capstan::async {
namespace {

// Cancellation leaves a coroutine as operation_aborted; everything else must have become a Result.
void RequireCancelled(const std::string& name, const std::exception_ptr& thrown) {
  if (!thrown) return;
  try {
    std::rethrow_exception(thrown);
  } catch (const boost::system::system_error& error) {
    if (error.code() == asio::error::operation_aborted) return;
    log::Error("task ended by an exception", {{"task", name}, {"error", error.what()}});
  } catch (const std::exception& error) {
    log::Error("task ended by an exception", {{"task", name}, {"error", error.what()}});
  }
  std::abort();
}

}  // namespace

TaskGroup::~TaskGroup() = default;

void TaskGroup::Spawn(std::string name, Task<void> task) {
  empty_.Reset();
  const auto member = members_.emplace(members_.end());
  member->name = std::move(name);
  auto done = [this, member](const std::exception_ptr& thrown) {
    RequireCancelled(member->name, thrown);
    member->ended = true;
    // Later, not now: the coroutine that is ending still refers to the member's cancellation signal.
    loop_.Post([this, member] {
      members_.erase(member);
      if (members_.empty()) empty_.Set();
    });
  };
  asio::co_spawn(loop_.executor(), Started(*member, std::move(task)),
                 asio::bind_cancellation_slot(member->cancel.slot(), std::move(done)));
}

// Asio throws out of its own entry point, past every handler, when a coroutine is cancelled before its first step.
Task<void> TaskGroup::Started(Member& member, Task<void> task) {
  member.started = true;
  if (!member.cancelled) co_await std::move(task);
}

// Asio emits later where it is not called by a handler of the loop: for one that has ended, after its member is gone.
void TaskGroup::Cancel() {
  for (auto next = members_.begin(); next != members_.end();) {
    Member& member = *next++;
    if (member.ended) continue;
    if (member.started)
      member.cancel.emit(asio::cancellation_type::terminal);
    else
      member.cancelled = true;
  }
}

Task<void> TaskGroup::Join() { co_await empty_.Wait(Deadline::Never()); }

}  // namespace capstan::async
