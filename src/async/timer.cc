#include "async/timer.h"

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <cassert>

namespace asio = boost::asio;

namespace capstan::async {

Task<bool> Timer::WaitUntil(Tick at) {
  using Signature = void(boost::system::error_code, bool);
  co_return co_await asio::async_initiate<const asio::use_awaitable_t<>, Signature>(
      [this, at](auto handler) {
        assert(!waiter_ && "one waiter at a time");
        slot_ = asio::get_associated_cancellation_slot(handler);
        if (slot_.is_connected()) {
          slot_.assign([this](asio::cancellation_type) { Finish(asio::error::operation_aborted, false); });
        }
        waiter_ = std::move(handler);
        if (at != Tick::max())
          id_ = loop_.Schedule(at, [this] {
            id_.reset();
            Finish({}, true);
          });
      },
      asio::use_awaitable);
}

void Timer::Cancel() { Finish({}, false); }

void Timer::Finish(boost::system::error_code error, bool reached) {
  if (id_) loop_.Unschedule(*std::exchange(id_, std::nullopt));
  if (!waiter_) return;
  // Posted, not called: whoever cancels does not run the waiter's code inside its own.
  loop_.Post([waiter = std::exchange(waiter_, {}), slot = slot_, error, reached]() mutable {
    slot.clear();  // a later cancellation must not find this Timer
    waiter(error, reached);
  });
}

Task<void> Sleep(Loop& loop, Duration duration) {
  Timer timer(loop);
  co_await timer.Wait(duration);
}

}  // namespace capstan::async
