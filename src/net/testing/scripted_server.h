// A server that answers as a test tells it to: real sockets on loopback, real TLS, any byte at any time.
//
// It speaks HTTP only as far as it must to take a request apart; answers are written as they stand in the
// script, so that a test can send what no honest server would.
//
//   ScriptedServer server;
//   server.Expect("GET /api/v1/pods", Json("{}"));            // answered once, in this order
//   server.Always("GET /healthz", Text("ok"));                // when nothing expected matches
//   server.Expect("GET /watch", Chunked({"a", "b"}).Hold());  // keeps the connection open
//   HttpClient client(loop, {.server = server.endpoint()});
//   ...
//   EXPECT_THAT(server.lines(), ElementsAre("GET /watch"));   // what was asked, as it came
//
// It runs on threads of its own, one for each connection: what is tested needs no Loop of a certain kind, and
// the code under test is not used to test itself. All methods may be called from any thread. The destructor
// cuts everything off.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/time.h"
#include "net/client.h"
#include "net/http.h"

namespace capstan::net::testing {

// What is written in answer to one request, and how the connection ends.
class Answer {
 public:
  explicit Answer(std::string bytes) { pieces_.push_back({Duration(0), std::move(bytes)}); }
  Answer() = default;

  // Adds bytes that are sent in a segment of their own, `wait` after what is before them.
  Answer& Then(std::string bytes, Duration wait = Duration(0)) {
    pieces_.push_back({wait, std::move(bytes)});
    return *this;
  }

  // Sends everything in pieces of `size` bytes: tests that no boundary matters.
  Answer& InPiecesOf(size_t size) {
    piece_size_ = size;
    return *this;
  }

  // Answers a request when its header is there, and does not wait for its body, which is never taken for another request.
  // REQUIRES: one of the ends below.
  Answer& Early() {
    early_ = true;
    return *this;
  }

  // After the last byte: closes (FIN, or RST when something is unread), resets (RST), or stays silent and open until the
  // server is destroyed or CutAll() is called. One that is open goes on reading what comes, and has told the peer that
  // nothing follows (FIN) when it ended its half only; one that stalls does not read any more. Default: waits for the
  // next request.
  Answer& Close() {
    end_ = End::kClose;
    return *this;
  }
  Answer& Reset() {
    end_ = End::kReset;
    return *this;
  }
  Answer& Hold() {
    end_ = End::kHold;
    return *this;
  }
  Answer& CloseHalf() {
    end_ = End::kCloseHalf;
    return *this;
  }
  Answer& Stall() {
    end_ = End::kStall;
    return *this;
  }

  struct Piece {
    Duration wait;
    std::string bytes;
  };
  enum class End : uint8_t { kKeepAlive, kClose, kReset, kHold, kCloseHalf, kStall };
  const std::vector<Piece>& pieces() const { return pieces_; }
  size_t piece_size() const { return piece_size_; }
  bool early() const { return early_; }
  End end() const { return end_; }

 private:
  std::vector<Piece> pieces_;
  size_t piece_size_ = 0;
  bool early_ = false;
  End end_ = End::kKeepAlive;
};

// Whole answers, with Content-Length.
Answer Text(std::string_view body, int status = 200, const Headers& headers = {});
Answer Json(std::string_view body, int status = 200, const Headers& headers = {});
// A chunked answer, each piece a chunk. Without an end when `complete` is false: for watches; add more with
// Then(Chunk()).
Answer Chunked(const std::vector<std::string>& pieces, bool complete = true, int status = 200);
std::string Chunk(std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";
// No answer at all; combine with Close, Reset or Hold.
Answer Nothing();

// A request as it came.
struct Seen {
  std::string method;
  std::string target;
  Headers headers;
  std::string body;
  size_t connection = 0;  // 0 for the first that was accepted, 1 for the next, ...

  std::string Line() const { return method + " " + target; }
};

class ScriptedServer {
 public:
  struct Options {
    std::string certificate_pem = {};  // with the key: serves TLS
    std::string key_pem = {};
    std::string client_ca_pem = {};  // with this: refuses clients without a certificate of this CA
    std::string unix_path = {};      // with this: listens there instead of on 127.0.0.1
  };
  ScriptedServer() : ScriptedServer(Options()) {}
  explicit ScriptedServer(Options options);
  ~ScriptedServer();
  ScriptedServer(const ScriptedServer&) = delete;
  ScriptedServer& operator=(const ScriptedServer&) = delete;

  // Answers the next request that matches. A pattern is "METHOD /path" and matches a target that is that
  // path, or that path with any query; "METHOD /path?" with the query given must be equal; "*" matches
  // everything. Expectations are used up in the order in which they were given among those that match.
  void Expect(std::string pattern, Answer answer);
  // The same for every request for which no expectation is left. Without one: 404 and a Status.
  void Always(std::string pattern, Answer answer);

  // Writes more on every open connection, as soon as its answer holds (or stalls). For watches.
  void Push(const std::string& bytes);
  // Ends every connection: with FIN, or with RST.
  void CutAll(bool reset = false);
  // While true, new connections are not taken out of the kernel's queue: a peer that has stopped.
  void Freeze(bool frozen);

  Endpoint endpoint() const;  // https on "127.0.0.1" when it serves TLS
  uint16_t port() const;

  std::vector<Seen> requests() const;
  std::vector<std::string> lines() const;  // of requests(): "GET /api/v1/pods?limit=500"
  size_t connections() const;              // accepted so far
  size_t open() const;                     // now
  // Returns once so many requests have come, or `limit` (real time) has passed; whether they have.
  bool WaitForRequests(size_t count, Duration limit = 5s) const;
  // The same, once no more than so many connections are open.
  bool WaitForOpen(size_t count, Duration limit = 5s) const;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace capstan::net::testing
