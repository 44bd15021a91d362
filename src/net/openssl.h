// Owners of OpenSSL's objects, and how PEM is read. Internal to net/.
#pragma once

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string_view>

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

// Reads `pem` where it lies, which must outlive it.
inline Owned<BIO> PemReader(std::string_view pem) { return Owned<BIO>(BIO_new_mem_buf(pem.data(), int(pem.size()))); }

// An encrypted key would otherwise make OpenSSL ask on the terminal.
inline int NoPassword(char*, int, int, void*) { return -1; }

}  // namespace capstan::net
