#include "net/testing/server_end.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>

#include "base/log.h"

namespace capstan::net::testing {
namespace {

template <class T>
Owned<T> Parsed(const std::string& pem, T* (*read)(BIO*, T**, pem_password_cb*, void*)) {
  const Owned<BIO> bio(BIO_new_mem_buf(pem.data(), int(pem.size())));
  Owned<T> object(read(bio.get(), nullptr, nullptr, nullptr));
  if (object) return object;
  log::Error("a test's PEM cannot be read");
  std::abort();
}

}  // namespace

Owned<SSL_CTX> ServerContext(const std::string& certificate_pem, const std::string& key_pem,
                             const std::string& client_ca_pem) {
  if (certificate_pem.empty()) return nullptr;
  Owned<SSL_CTX> context(SSL_CTX_new(TLS_server_method()));
  SSL_CTX_use_certificate(context.get(), Parsed<X509>(certificate_pem, PEM_read_bio_X509).get());
  SSL_CTX_use_PrivateKey(context.get(), Parsed<EVP_PKEY>(key_pem, PEM_read_bio_PrivateKey).get());
  if (!client_ca_pem.empty()) {
    const Owned<X509> ca = Parsed<X509>(client_ca_pem, PEM_read_bio_X509);
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context.get()), ca.get());
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return context;
}

ServerEnd::ServerEnd(int fd, SSL_CTX* context) : fd_(fd) {
  if (context == nullptr) return;
  ssl_ = SSL_new(context);
  SSL_set_fd(ssl_, fd_);
}

ServerEnd::~ServerEnd() {
  SSL_free(ssl_);
  close(fd_);
  ERR_clear_error();
}

void ServerEnd::BlockBrokenPipes() {
  sigset_t pipe;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &pipe, nullptr);
}

bool ServerEnd::Handshake() { return ssl_ == nullptr || SSL_accept(ssl_) == 1; }

bool ServerEnd::Read(std::string& into) {
  char buffer[16384];
  const ssize_t got = ssl_ != nullptr ? SSL_read(ssl_, buffer, sizeof buffer) : read(fd_, buffer, sizeof buffer);
  if (got > 0) into.append(buffer, size_t(got));
  return got > 0;
}

bool ServerEnd::Write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ssl_ != nullptr ? SSL_write(ssl_, bytes.data(), int(bytes.size()))
                                         : send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(size_t(sent));
  }
  return true;
}

}  // namespace capstan::net::testing
