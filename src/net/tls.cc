#include "net/tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "net/openssl.h"
#include "net/tls_fault.h"

namespace capstan::net {
namespace {

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

Result<void> Trust(SSL_CTX* context, const std::string& ca_pem) {
  if (ca_pem.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) != 1) return Fail(Code::kInvalid, "the machine has no trust store");
    return {};
  }
  const Owned<BIO> reader = PemReader(ca_pem);
  int count = 0;
  while (const Owned<X509> certificate{PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr)}) {
    X509_STORE_add_cert(SSL_CTX_get_cert_store(context), certificate.get());
    ++count;
  }
  ERR_clear_error();  // the end of the text is an error, too
  if (count == 0) return Fail(Code::kInvalid, "the CA bundle holds no certificate in PEM form");
  return {};
}

// `whose` is "client" or "server".
Result<void> PresentCertificate(SSL_CTX* context, const std::string& whose, std::string_view certificate_pem) {
  const Owned<BIO> reader = PemReader(certificate_pem);
  const Owned<X509> own(PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr));
  if (!own || SSL_CTX_use_certificate(context, own.get()) != 1) {
    ERR_clear_error();
    return Fail(Code::kInvalid, "the " + whose + " certificate is not a certificate in PEM form");
  }
  while (const Owned<X509> issuer{PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr)}) {
    SSL_CTX_add1_chain_cert(context, issuer.get());
  }
  ERR_clear_error();
  return {};
}

// The key of the certificate that is presented.
Result<void> PresentKey(SSL_CTX* context, const std::string& whose, const Secret& key_pem) {
  const Owned<BIO> key_reader = PemReader(key_pem.Reveal());
  const Owned<EVP_PKEY> key(PEM_read_bio_PrivateKey(key_reader.get(), nullptr, NoPassword, nullptr));
  ERR_clear_error();
  if (!key) return Fail(Code::kInvalid, "the " + whose + " key is not an unencrypted private key in PEM form");
  const bool fits = SSL_CTX_use_PrivateKey(context, key.get()) == 1 && SSL_CTX_check_private_key(context) == 1;
  ERR_clear_error();
  if (!fits) return Fail(Code::kInvalid, "the " + whose + " key does not belong to the " + whose + " certificate");
  return {};
}

Result<void> Present(SSL_CTX* context, const std::string& whose, std::string_view certificate_pem,
                     const Secret& key_pem) {
  CAPSTAN_CHECK_OK(PresentCertificate(context, whose, certificate_pem));
  return PresentKey(context, whose, key_pem);
}

std::string CertificateFault(const std::string& peer, long result) {
  const std::string certificate = "the " + peer + "'s certificate";
  switch (result) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return certificate + " is for another name";
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return certificate + " has expired";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return certificate + " is not valid yet; is the clock right?";
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
    case X509_V_ERR_CERT_SIGNATURE_FAILURE:
      return certificate + " is signed by none of the CAs we trust";
    default:
      return certificate + ": " + X509_verify_cert_error_string(result);
  }
}

// What clients and servers have in common.
Owned<SSL_CTX> NewContext(const SSL_METHOD* method) {
  Owned<SSL_CTX> context(SSL_CTX_new(method));
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context.get(),
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_read_ahead(context.get(), 1);  // one recv for all records that are there, not two for each
  // A bundle may name an intermediate or the peer's own certificate as the one to trust, as others allow.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context.get()), X509_V_FLAG_PARTIAL_CHAIN);
  return context;
}

constexpr unsigned char kHttp1[] = "\x08http/1.1";
constexpr unsigned kHttp1Size = sizeof kHttp1 - 1;

// Of what a client offers (HTTP/2 first, as a rule) we speak HTTP/1.1 only.
int ChooseProtocol(SSL*, const unsigned char** chosen, unsigned char* size, const unsigned char* offered,
                   unsigned offered_size, void*) {
  const int found =
      SSL_select_next_proto(const_cast<unsigned char**>(chosen), size, kHttp1, kHttp1Size, offered, offered_size);
  return found == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::ForClient(const TlsMaterial& material) {
  Owned<SSL_CTX> context = NewContext(TLS_client_method());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_alpn_protos(context.get(), kHttp1, kHttp1Size);
  CAPSTAN_CHECK_OK(Trust(context.get(), material.ca_pem));
  if (!material.certificate_pem.empty())
    CAPSTAN_CHECK_OK(Present(context.get(), "client", material.certificate_pem, material.key_pem));
  return std::shared_ptr<const TlsContext>(new TlsContext(context.release()));
}

Result<std::shared_ptr<const TlsContext>> TlsContext::ForServer(const ServingMaterial& material) {
  Owned<SSL_CTX> context = NewContext(TLS_server_method());
  SSL_CTX_set_options(context.get(), SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_num_tickets(context.get(), 0);
  SSL_CTX_set_alpn_select_cb(context.get(), ChooseProtocol, nullptr);
  CAPSTAN_CHECK_OK(Present(context.get(), "server", material.certificate_pem, material.key_pem));
  if (!material.client_ca_pem.empty()) {
    CAPSTAN_CHECK_OK(Trust(context.get(), material.client_ca_pem), "clients");
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  }
  return std::shared_ptr<const TlsContext>(new TlsContext(context.release()));
}

std::optional<TlsFault> FindTlsFault(const TlsMaterial& material) {
  const Owned<SSL_CTX> context = NewContext(TLS_client_method());
  if (!material.ca_pem.empty()) {
    if (const auto trusted = Trust(context.get(), material.ca_pem); !trusted)
      return TlsFault{TlsPart::kCa, trusted.error().message()};
  }
  if (material.certificate_pem.empty()) return std::nullopt;
  if (const auto presented = PresentCertificate(context.get(), "client", material.certificate_pem); !presented)
    return TlsFault{TlsPart::kCertificate, presented.error().message()};
  if (const auto presented = PresentKey(context.get(), "client", material.key_pem); !presented)
    return TlsFault{TlsPart::kKey, presented.error().message()};
  return std::nullopt;
}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

SSL* TlsContext::NewClient(int fd, const std::string& server_name) const {
  return NewClientOn(NewSocketBio(fd), server_name);
}

SSL* TlsContext::NewClientInside(SSL* outer, const std::string& server_name) const {
  BIO* const bio = BIO_new(BIO_f_ssl());
  BIO_set_ssl(bio, outer, BIO_NOCLOSE);
  return NewClientOn(bio, server_name);
}

SSL* TlsContext::NewClientOn(BIO* bio, const std::string& server_name) const {
  SSL* const ssl = SSL_new(context_);
  SSL_set_bio(ssl, bio, bio);
  SSL_set_connect_state(ssl);
  X509_VERIFY_PARAM* const param = SSL_get0_param(ssl);
  // Names stand in subjectAltName; a subject is whatever its holder wrote there (RFC 9525 section 2).
  X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  // Server Name Indication takes names only (RFC 6066 section 3).
  if (X509_VERIFY_PARAM_set1_ip_asc(param, server_name.c_str()) != 1) {
    ERR_clear_error();
    // Refused or empty, it would leave the name unchecked.
    if (server_name.empty() || X509_VERIFY_PARAM_set1_host(param, server_name.c_str(), server_name.size()) != 1)
      std::abort();
    SSL_set_tlsext_host_name(ssl, server_name.c_str());
  }
  return ssl;
}

SSL* TlsContext::NewServer(int fd) const {
  SSL* const ssl = SSL_new(context_);
  BIO* const bio = NewSocketBio(fd);
  SSL_set_bio(ssl, bio, bio);
  SSL_set_accept_state(ssl);
  return ssl;
}

std::string TlsFailure(SSL* ssl, int system_error) {
  const std::string peer = SSL_is_server(ssl) ? "client" : "server";
  const unsigned long code = ERR_peek_error();
  ERR_clear_error();
  if (const long verified = SSL_get_verify_result(ssl); verified != X509_V_OK) return CertificateFault(peer, verified);
  if (code && ERR_GET_REASON(code) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
    return "the " + peer + " closed the connection";
  if (code && ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER)
    return "the " + peer + " does not speak TLS on this port";
  if (code) {
    const char* const reason = ERR_reason_error_string(code);
    return std::string("TLS: ") + (reason ? reason : "unknown error");
  }
  return system_error ? std::strerror(system_error) : "the " + peer + " closed the connection";
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
