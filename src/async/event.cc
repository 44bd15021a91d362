#include "async/event.h"

namespace capstan::async {

void Event::Set() {
  set_ = true;
  for (Timer* waiter : waiters_) waiter->Cancel();
}

Task<bool> Event::Wait(Deadline deadline) {
  while (!set_) {
    Timer timer(loop_);
    struct Listed {
      std::list<Timer*>& list;
      std::list<Timer*>::iterator place;
      ~Listed() { list.erase(place); }
    } listed{waiters_, waiters_.insert(waiters_.end(), &timer)};
    if (co_await timer.WaitUntil(deadline.at()) && !set_) co_return false;
  }
  co_return true;
}

}  // namespace capstan::async
