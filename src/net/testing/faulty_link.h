// A stretch of wire on loopback, between a client and a server, on which a test lets things go wrong: what no honest
// server does on demand, whatever the server is and whatever it speaks (TLS too; the link sees bytes only).
//
//   FaultyLink link(apiserver.port());
//   HttpClient client(loop, {.server = {Scheme::kHttps, "127.0.0.1", link.port()}, ...});
//   link.Hold(true);    // events wait on the connections that are open now; other connections overtake them
//   link.Cut();         // everything breaks
//
// What a client has sent is delivered even when the client has closed meanwhile, late or held as it may be: a write that
// arrives when nobody waits for its answer any more.
//
// It runs on a thread of its own. All methods may be called from any thread and have taken effect when they return. The
// destructor cuts everything off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/time.h"

namespace capstan::net::testing {

class FaultyLink {
 public:
  // Between clients that connect to port() and the server that listens on 127.0.0.1:`server_port`.
  explicit FaultyLink(uint16_t server_port);
  ~FaultyLink();
  FaultyLink(const FaultyLink&) = delete;
  FaultyLink& operator=(const FaultyLink&) = delete;

  uint16_t port() const;
  size_t accepted() const;  // connections so far

  // Resets every connection; what was on the way is lost.
  void Cut();
  // While true, new connections are reset at once.
  void Refuse(bool refuse);
  // Which way the bytes go that the next three are about.
  enum class Toward : uint8_t { kClient, kServer };
  // What is sent that way on the connections open now is kept back until Hold(false): the peer that fell silent without
  // closing, and, beside newer connections, the messages that are overtaken by later ones.
  void Hold(bool hold, Toward toward = Toward::kClient);
  // What is sent that way comes that much later, in order.
  void Delay(Duration delay, Toward toward = Toward::kClient);
  // On every connection, the ones to come included, `bytes` more bytes arrive that way; then it is reset. For answers and
  // requests cut short anywhere.
  void CutAfter(size_t bytes, Toward toward = Toward::kClient);
  // No more delay, no limit of bytes, nothing held or refused.
  void Heal();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace capstan::net::testing
