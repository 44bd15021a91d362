#include "net/testing/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <cstdlib>

#include "base/log.h"
#include "net/openssl.h"

namespace capstan::net::testing {
namespace {

void Require(bool ok, std::string_view what) {
  if (ok) return;
  log::Error("test certificates", {{"failed", what}});
  std::abort();
}

std::string Written(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  return std::string(bytes, size_t(size));
}

KeyPair ToPem(X509* certificate, EVP_PKEY* key) {
  const Owned<BIO> certificate_out(BIO_new(BIO_s_mem())), key_out(BIO_new(BIO_s_mem()));
  Require(PEM_write_bio_X509(certificate_out.get(), certificate), "writing a certificate");
  Require(PEM_write_bio_PKCS8PrivateKey(key_out.get(), key, nullptr, nullptr, 0, nullptr, nullptr), "writing a key");
  return {Written(certificate_out.get()), Written(key_out.get())};
}

template <class T>
Owned<T> FromPem(const std::string& pem, T* (*read)(BIO*, T**, pem_password_cb*, void*)) {
  const Owned<BIO> bio(BIO_new_mem_buf(pem.data(), int(pem.size())));
  Owned<T> object(read(bio.get(), nullptr, nullptr, nullptr));
  Require(object != nullptr, "reading PEM");
  return object;
}

void AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  Require(extension && X509_add_ext(certificate, extension, -1), value);
  X509_EXTENSION_free(extension);
}

Owned<X509> Unsigned(EVP_PKEY* key, const std::string& name, const std::string& organization, Duration begins_in,
                     Duration ends_in) {
  Owned<X509> certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  uint64_t serial = 0;
  RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate.get()), serial >> 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), begins_in / 1s);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), ends_in / 1s);
  const auto add = [&](const char* field, const std::string& text) {
    if (text.empty()) return;
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), field, MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(text.data()), int(text.size()), -1, 0);
  };
  add("O", organization);
  add("CN", name);
  X509_set_pubkey(certificate.get(), key);
  return certificate;
}

}  // namespace

Authority::Authority(std::string name) {
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const Owned<X509> certificate = Unsigned(key.get(), name, "", -24h, 24h * 365);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get()));
  AddExtension(certificate.get(), certificate.get(), NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(certificate.get(), certificate.get(), NID_key_usage, "critical,keyCertSign,cRLSign");
  AddExtension(certificate.get(), certificate.get(), NID_subject_key_identifier, "hash");
  Require(X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0, "signing the CA");
  own_ = ToPem(certificate.get(), key.get());
}

KeyPair Authority::Issue(const Options& options) const {
  const Owned<X509> issuer = FromPem<X509>(own_.certificate_pem, PEM_read_bio_X509);
  const Owned<EVP_PKEY> issuer_key = FromPem<EVP_PKEY>(own_.key_pem, PEM_read_bio_PrivateKey);
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  const Owned<X509> certificate =
      Unsigned(key.get(), options.common_name, options.organization, options.begins_in, options.ends_in);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get()));
  std::string names;
  for (const std::string& name : options.names) names += (names.empty() ? "DNS:" : ",DNS:") + name;
  for (const std::string& address : options.addresses) names += (names.empty() ? "IP:" : ",IP:") + address;
  if (!names.empty()) AddExtension(certificate.get(), issuer.get(), NID_subject_alt_name, names);
  AddExtension(certificate.get(), issuer.get(), NID_key_usage, "critical,digitalSignature");
  AddExtension(certificate.get(), issuer.get(), NID_ext_key_usage, "serverAuth,clientAuth");
  Require(X509_sign(certificate.get(), issuer_key.get(), EVP_sha256()) > 0, "signing a certificate");
  return ToPem(certificate.get(), key.get());
}

}  // namespace capstan::net::testing
