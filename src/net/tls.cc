#include "net/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace capstan::net {
namespace {

struct Free {
  void operator()(BIO* p) const { BIO_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(SSL_CTX* p) const { SSL_CTX_free(p); }
};
template <class T>
using Owned = std::unique_ptr<T, Free>;

// --------------------------------------------------------------------------------------------------------
// A BIO straight on the socket. OpenSSL's own would raise SIGPIPE, and Asio's stream keeps four buffers of 17
// KiB for every connection, most of which are watches that wait.

int FdOf(BIO* bio) { return int(reinterpret_cast<intptr_t>(BIO_get_data(bio))); }

int BioWrite(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t sent = send(FdOf(bio), bytes, size_t(size), MSG_NOSIGNAL);
  if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
  return int(sent);
}

int BioRead(BIO* bio, char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  const ssize_t got = recv(FdOf(bio), bytes, size_t(size), 0);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
  if (got == 0) BIO_set_flags(bio, BIO_FLAGS_IN_EOF);
  return int(got);
}

long BioControl(BIO* bio, int command, long, void*) {
  if (command == BIO_CTRL_FLUSH) return 1;
  if (command == BIO_CTRL_EOF) return BIO_test_flags(bio, BIO_FLAGS_IN_EOF) != 0;
  return 0;
}

BIO_METHOD* MakeMethod() {
  BIO_METHOD* const method =
      BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK | BIO_TYPE_DESCRIPTOR, "capstan socket");
  BIO_meth_set_write(method, BioWrite);
  BIO_meth_set_read(method, BioRead);
  BIO_meth_set_ctrl(method, BioControl);
  return method;
}

BIO* NewSocketBio(int fd) {
  static BIO_METHOD* const method = MakeMethod();
  BIO* const bio = BIO_new(method);
  BIO_set_data(bio, reinterpret_cast<void*>(intptr_t(fd)));
  BIO_set_init(bio, 1);
  return bio;
}

// --------------------------------------------------------------------------------------------------------

Owned<BIO> Reader(std::string_view pem) { return Owned<BIO>(BIO_new_mem_buf(pem.data(), int(pem.size()))); }

// An encrypted key would otherwise make OpenSSL ask on the terminal.
int NoPassword(char*, int, int, void*) { return -1; }

Result<void> Trust(SSL_CTX* context, const std::string& ca_pem) {
  if (ca_pem.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) != 1) return Fail(Code::kInvalid, "the machine has no trust store");
    return {};
  }
  const Owned<BIO> reader = Reader(ca_pem);
  int count = 0;
  while (const Owned<X509> certificate{PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr)}) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate.get());
    ++count;
  }
  ERR_clear_error();  // the end of the text is an error, too
  if (count == 0) return Fail(Code::kInvalid, "the CA bundle holds no certificate in PEM form");
  return {};
}

Result<void> Present(SSL_CTX* context, const TlsMaterial& material) {
  if (material.certificate_pem.empty()) return {};
  const Owned<BIO> reader = Reader(material.certificate_pem);
  const Owned<X509> own(PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr));
  if (!own || SSL_CTX_use_certificate(context, own.get()) != 1) {
    ERR_clear_error();
    return Fail(Code::kInvalid, "the client certificate is not a certificate in PEM form");
  }
  while (const Owned<X509> issuer{PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr)}) {
    SSL_CTX_add1_chain_cert(context, issuer.get());
  }
  ERR_clear_error();
  const Owned<BIO> key_reader = Reader(material.key_pem.Reveal());
  const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(key_reader.get(), nullptr, NoPassword, nullptr));
  ERR_clear_error();
  if (!key) return Fail(Code::kInvalid, "the client key is not an unencrypted private key in PEM form");
  const bool fits = SSL_CTX_use_PrivateKey(context, key.get()) == 1 && SSL_CTX_check_private_key(context) == 1;
  ERR_clear_error();
  if (!fits) return Fail(Code::kInvalid, "the client key does not belong to the client certificate");
  return {};
}

std::string CertificateFault(long result) {
  switch (result) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "the server's certificate is for another name";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "the server's certificate has expired";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "the server's certificate is not valid yet; is the clock right?";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return "the server's certificate is signed by none of the CAs we trust";
    default:
      return std::string("the server's certificate: ") + X509_verify_cert_error_string(result);
  }
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::ForClient(const TlsMaterial& material) {
  Owned<SSL_CTX> context(SSL_CTX_new(TLS_client_method()));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  // A bundle may name an intermediate or the server's own certificate as the one to trust, as other clients
  // allow.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context.get()), X509_V_FLAG_PARTIAL_CHAIN);
  constexpr unsigned char kHttp1[] = "\x08http/1.1";
  SSL_CTX_set_alpn_protos(context.get(), kHttp1, sizeof kHttp1 - 1);
  CAPSTAN_CHECK_OK(Trust(context.get(), material.ca_pem));
  CAPSTAN_CHECK_OK(Present(context.get(), material));
  return std::shared_ptr<const TlsContext>(new TlsContext(context.release()));
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

SSL* TlsContext::NewClient(int fd, const std::string& server_name) const {
  SSL* const ssl = SSL_new(context_);
  BIO* const bio = NewSocketBio(fd);
  SSL_set_bio(ssl, bio, bio);
  SSL_set_connect_state(ssl);
  X509_VERIFY_PARAM* const param = SSL_get0_param(ssl);
  X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  // Server Name Indication takes names only (RFC 6066 section 3).
  if (X509_VERIFY_PARAM_set1_ip_asc(param, server_name.c_str()) != 1) {
    ERR_clear_error();
    X509_VERIFY_PARAM_set1_host(param, server_name.c_str(), server_name.size());
    SSL_set_tlsext_host_name(ssl, server_name.c_str());
  }
  return ssl;
}

std::string TlsFailure(SSL* ssl, int system_error) {
  const unsigned long code = ERR_peek_error();
  ERR_clear_error();
  if (const long verified = SSL_get_verify_result(ssl); verified != X509_V_OK) return CertificateFault(verified);
  if (code && ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING) return "the server closed the connection";
  if (code && ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER) return "the server does not speak TLS on this port";
  if (code) {
    const char* const reason = ERR_reason_error_string(code);
    return std::string("TLS: ") + (reason ? reason : "unknown error");
  }
  return system_error ? std::strerror(system_error) : "the server closed the connection";
}

bool PeerRefusedOurCertificate() {
  const unsigned long code = ERR_peek_error();
  if (ERR_GET_LIB(code) != ERR_LIB_SSL) return false;
  switch (ERR_GET_REASON(code)) {
    case SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED:
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED:
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
    case SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE:
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
    case SSL_R_TLSV1_ALERT_ACCESS_DENIED:
      return true;
    default:
      return false;
  }
}

}  // namespace capstan::net
