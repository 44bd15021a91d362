// A turn for the others.
#pragma once

#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "async/loop.h"
#include "async/task.h"

namespace capstan::async {

// Lets everything that is ready have its turn first.
inline Task<void> Yield(Loop& loop) { co_await boost::asio::post(loop.executor(), boost::asio::use_awaitable); }

}  // namespace capstan::async
