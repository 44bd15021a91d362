// Counts the writes that the API server accepts and, when asked, measures the program's own part of the time from an
// event to the write that follows it: from the return of the system call that read the event's last byte to the entry
// of the one that writes the request's first.
//
// It stands at the transport, where the texts are plain, and (probe.cc) in front of recv and send, where the bytes pass.
// REQUIRES: events and requests name the object alike; no two requests overlap between the transport and the socket.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/time.h"
#include "net/http.h"

namespace capstan::bench {

class Probe final : public net::Transport {
 public:
  // `plural` is the kind whose events count. `accepted` is called with the number of writes accepted so far.
  Probe(net::Transport& transport, std::string plural, bool measure, std::function<void(size_t)> accepted);
  ~Probe() override;

  async::Task<Result<net::Response>> Send(net::Request request, async::Deadline deadline) override;
  async::Task<Result<std::unique_ptr<net::BodyStream>>> Open(net::Request request, async::Deadline deadline) override;

  const std::vector<Duration>& latencies() const { return latencies_; }

  // From the system calls.
  void BytesRead();
  void BytesWritten();

 private:
  class Stream;

  void EventRead(std::string_view line);

  net::Transport& transport_;
  std::string plural_;
  bool measure_;
  std::function<void(size_t)> accepted_;
  size_t writes_ = 0;
  Tick last_read_{};
  std::map<std::string, Tick, std::less<>> read_at_;  // name of an object -> its last event
  std::deque<Tick> leaving_;                          // events whose requests are on their way to the socket
  std::vector<Duration> latencies_;
};

}  // namespace capstan::bench
