// Owners of OpenSSL's objects. Internal to net/.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>

namespace capstan::net {

struct FreeOpenSsl {
  void operator()(BIO* p) const { BIO_free(p); }
  void operator()(X509* p) const { X509_free(p); }
  void operator()(X509_EXTENSION* p) const { X509_EXTENSION_free(p); }
  void operator()(EVP_PKEY* p) const { EVP_PKEY_free(p); }
  void operator()(GENERAL_NAMES* p) const { GENERAL_NAMES_free(p); }
  void operator()(SSL_CTX* p) const { SSL_CTX_free(p); }
};
template <class T>
using Owned = std::unique_ptr<T, FreeOpenSsl>;

}  // namespace capstan::net
