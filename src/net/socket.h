// One connected stream of bytes: TCP or unix, plain or TLS. Internal to net/.
//
// It keeps no buffer of its own: data is read only when there is some, into what the caller holds. A
// connection that waits costs a descriptor, and with TLS about 10 KiB.
#pragma once

#include <sys/socket.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <string>
#include <string_view>

#include "async/loop.h"
#include "base/result.h"
#include "net/tls.h"

namespace capstan::net {

// Something to connect to.
struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;

  static Address Unix(std::string_view path);  // REQUIRES: shorter than 108 bytes
  std::string ToString() const;                // "10.0.0.1:443", "[::1]:443", "/run/x.sock"
};

// Thread: the loop's. One read and one write may wait at a time. Errors: kDeadline, kUnavailable (broken,
// refused), kUnauthenticated (the peer refused our certificate), kCancelled (Shut). What broke the socket first is what
// is said ever after; only that our certificate was refused may still come to light.
class Socket {
 public:
  // Takes over `fd`, a connected or accepted socket.
  Socket(async::Loop& loop, int fd);
  ~Socket();
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  static async::Task<Result<std::unique_ptr<Socket>>> Connect(async::Loop& loop, Address address,
                                                              async::Deadline deadline);

  // The client's handshake, with all checks. A second one runs inside the first: TLS to a proxy, then TLS to
  // the server behind it. After an error the socket is of no use.
  async::Task<Result<void>> StartTls(std::shared_ptr<const TlsContext> context, std::string server_name,
                                     async::Deadline deadline);
  // The server's. kUnauthenticated: the client does not accept our certificate.
  async::Task<Result<void>> AcceptTls(std::shared_ptr<const TlsContext> context, async::Deadline deadline);

  // Waits for bytes and appends up to 16 KiB of them to `into`; 0 is the peer's orderly end.
  async::Task<Result<size_t>> Read(std::string& into, async::Deadline deadline);

  // Writes all of `bytes`, which must stay where they are. After an error an unknown part of them has left,
  // never all.
  async::Task<Result<void>> Write(std::string_view bytes, async::Deadline deadline);

  struct Heard {
    size_t written = 0;  // bytes
    bool ended = false;  // the peer's orderly end
  };
  // Writes `bytes`, which must stay where they are, until all of them have been written, or the peer has said something,
  // which is appended to `into`, or has ended. It looks before each write, and every 250 ms while it has to wait. Who writes on then begins with the first byte that was not written.
  async::Task<Result<Heard>> WriteUntilHeard(std::string_view bytes, std::string& into, async::Deadline deadline);

  // Tells the peer that nothing more will be written; reading goes on.
  void EndWriting();

  // Does not wait. False when the peer has closed the connection, or has sent something that nobody asked for.
  bool Quiet();

  // Ends what waits in Read or Write with kCancelled, now and ever after.
  void Shut();

 private:
  enum class Wants : uint8_t { kRead, kWrite };
  // What an attempt that must not block came to.
  struct Attempt {
    enum class State : uint8_t { kDone, kWantsRead, kWantsWrite, kFailed } state;
    size_t count = 0;
  };

  async::Task<Result<void>> Wait(Wants wants, async::Deadline deadline);
  async::Task<void> LetOthersTurn();
  void CountWritten(size_t bytes);
  Attempt TryRead(std::string& into);
  Attempt TryWrite(std::string_view bytes);
  async::Task<Result<void>> Handshake(async::Deadline deadline);
  Attempt TryHandshake();
  Attempt AfterTls(int returned);
  Attempt NotEnded(Attempt attempt);
  Attempt Broken(std::string why);
  Error Failure() const;
  std::string Peer() const;  // "the server", as clients say

  async::Loop& loop_;
  boost::asio::posix::stream_descriptor descriptor_;
  SSL* ssl_ = nullptr;        // what we read and write through
  SSL* outer_ssl_ = nullptr;  // the proxy's, around ssl_
  std::string failure_;
  bool refused_ = false;
  bool unreadable_ = false;  // reading failed; OpenSSL and the kernel say so once and then that the peer has ended
  bool shut_ = false;
  size_t unyielded_ = 0;  // bytes since others had their turn
};

}  // namespace capstan::net
