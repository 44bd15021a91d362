#include "net/certificate_authority.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <algorithm>

#include "base/hash.h"
#include "net/openssl.h"

namespace capstan::net {
namespace {

// Whatever is left in OpenSSL's queue belongs to us and nobody else.
struct ErrorScope {
  ~ErrorScope() { ERR_clear_error(); }
};

Owned<X509> ReadOne(std::string_view pem) {
  return Owned<X509>(PEM_read_bio_X509(PemReader(pem).get(), nullptr, nullptr, nullptr));
}

Owned<EVP_PKEY> ReadKey(const Secret& pem) {
  return Owned<EVP_PKEY>(PEM_read_bio_PrivateKey(PemReader(pem.Reveal()).get(), nullptr, NoPassword, nullptr));
}

std::string Written(BIO* bio) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(bio, &bytes);
  return std::string(bytes, size_t(size));
}

std::string ToPem(X509* certificate) {
  const Owned<BIO> out(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(out.get(), certificate);
  return Written(out.get());
}

Secret ToPem(EVP_PKEY* key) {
  const Owned<BIO> out(BIO_new(BIO_s_secmem()));
  PEM_write_bio_PKCS8PrivateKey(out.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return Secret(Written(out.get()));
}

Time ToTime(const ASN1_TIME* time) {
  tm broken_down{};
  ASN1_TIME_to_tm(time, &broken_down);
  return FromUnixSeconds(timegm(&broken_down));
}

std::string RandomHex(size_t bytes) {
  std::string raw(bytes, '\0');
  RAND_bytes(reinterpret_cast<unsigned char*>(raw.data()), int(bytes));
  return Hex(raw);
}

void SetName(X509_NAME* name, std::string_view common_name) {
  // RFC 5280 ends common names at 64 characters; the subject alternative names are what counts.
  const std::string text(common_name.substr(0, 64));
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(text.data()),
                             int(text.size()), -1, 0);
}

Owned<X509> Unsigned(EVP_PKEY* key, std::string_view common_name, Validity validity) {
  Owned<X509> certificate(X509_new());
  X509_set_version(certificate.get(), X509_VERSION_3);
  unsigned char serial[16];
  RAND_bytes(serial, sizeof serial);
  serial[0] = (serial[0] & 0x7f) | 0x40;  // positive, and of full length
  BIGNUM* const number = BN_bin2bn(serial, sizeof serial, nullptr);
  BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate.get()));
  BN_free(number);
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()), UnixSeconds(validity.from));
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()), UnixSeconds(validity.until));
  SetName(X509_get_subject_name(certificate.get()), common_name);
  X509_set_pubkey(certificate.get(), key);
  return certificate;
}

bool AddExtension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION> extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

std::optional<std::string> IpBytes(const std::string& text) {
  char bytes[16];
  if (inet_pton(AF_INET, text.c_str(), bytes) == 1) return std::string(bytes, 4);
  if (inet_pton(AF_INET6, text.c_str(), bytes) == 1) return std::string(bytes, 16);
  return std::nullopt;
}

std::string AddressText(std::string_view bytes) {
  char text[INET6_ADDRSTRLEN] = "";
  inet_ntop(bytes.size() == 4 ? AF_INET : AF_INET6, bytes.data(), text, sizeof text);
  return text;
}

// RFC 1123, a leading "*." allowed.
bool IsDnsName(std::string_view text) {
  if (text.starts_with("*.")) text.remove_prefix(2);
  if (text.empty() || text.size() > 253 || text.front() == '.' || text.back() == '.') return false;
  return text.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._") == text.npos;
}

Result<void> AddNames(X509* certificate, const std::vector<std::string>& names) {
  const Owned<GENERAL_NAMES> list(GENERAL_NAMES_new());
  for (const std::string& name : names) {
    const auto address = IpBytes(name);
    if (!address && !IsDnsName(name))
      return Fail(Code::kInvalid, "\"" + name + "\" is neither a DNS name nor an address");
    const std::string& bytes = address ? *address : name;
    ASN1_STRING* const value = ASN1_STRING_type_new(address ? V_ASN1_OCTET_STRING : V_ASN1_IA5STRING);
    ASN1_STRING_set(value, bytes.data(), int(bytes.size()));
    GENERAL_NAME* const entry = GENERAL_NAME_new();
    GENERAL_NAME_set0_value(entry, address ? GEN_IPADD : GEN_DNS, value);
    sk_GENERAL_NAME_push(list.get(), entry);
  }
  X509_add1_ext_i2d(certificate, NID_subject_alt_name, list.get(), 0, 0);
  return {};
}

std::vector<std::string> NamesOf(X509* certificate) {
  std::vector<std::string> names;
  const Owned<GENERAL_NAMES> list(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; i < sk_GENERAL_NAME_num(list.get()); ++i) {
    int type = 0;
    const auto* const value =
        static_cast<const ASN1_STRING*>(GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(list.get(), i), &type));
    if (type != GEN_DNS && type != GEN_IPADD) continue;
    const std::string_view bytes(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                                 size_t(ASN1_STRING_length(value)));
    if (type == GEN_IPADD && bytes.size() != 4 && bytes.size() != 16) continue;
    names.push_back(type == GEN_DNS ? std::string(bytes) : AddressText(bytes));
  }
  std::ranges::sort(names);
  return names;
}

Error Broken(std::string_view what) { return Error(Code::kInternal, "OpenSSL could not make " + std::string(what)); }

}  // namespace

Result<CertifiedKey> NewAuthority(std::string_view name, Validity validity) {
  const ErrorScope scope;
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (!key) return Fail(Broken("a key"));
  const std::string common_name = std::string(name.substr(0, 46)) + " CA " + RandomHex(4);
  const Owned<X509> certificate = Unsigned(key.get(), common_name, validity);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate.get()));
  const bool made =
      AddExtension(certificate.get(), certificate.get(), NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
      AddExtension(certificate.get(), certificate.get(), NID_key_usage, "critical,keyCertSign,cRLSign") &&
      AddExtension(certificate.get(), certificate.get(), NID_subject_key_identifier, "hash") &&
      X509_sign(certificate.get(), key.get(), EVP_sha256()) > 0;
  if (!made) return Fail(Broken("a CA certificate"));
  return CertifiedKey{ToPem(certificate.get()), ToPem(key.get())};
}

Result<CertifiedKey> IssueServing(const CertifiedKey& authority, const std::vector<std::string>& names,
                                  Validity validity) {
  const ErrorScope scope;
  if (names.empty()) return Fail(Code::kInvalid, "a certificate needs a name that it is for");
  const Owned<X509> issuer = ReadOne(authority.certificate_pem);
  const Owned<EVP_PKEY> issuer_key = ReadKey(authority.key_pem);
  if (!issuer || !issuer_key) return Fail(Code::kInvalid, "the CA's certificate or key is not in PEM form");
  if (X509_check_private_key(issuer.get(), issuer_key.get()) != 1)
    return Fail(Code::kInvalid, "the CA's key does not belong to its certificate");
  validity.from = std::max(validity.from, ToTime(X509_get0_notBefore(issuer.get())));
  validity.until = std::min(validity.until, ToTime(X509_get0_notAfter(issuer.get())));
  const Owned<EVP_PKEY> key(EVP_EC_gen("P-256"));
  if (!key) return Fail(Broken("a key"));
  const Owned<X509> certificate = Unsigned(key.get(), names.front(), validity);
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(issuer.get()));
  CAPSTAN_CHECK_OK(AddNames(certificate.get(), names));
  const bool made = AddExtension(certificate.get(), issuer.get(), NID_basic_constraints, "critical,CA:FALSE") &&
                    AddExtension(certificate.get(), issuer.get(), NID_key_usage, "critical,digitalSignature") &&
                    AddExtension(certificate.get(), issuer.get(), NID_ext_key_usage, "serverAuth") &&
                    AddExtension(certificate.get(), issuer.get(), NID_authority_key_identifier, "keyid:always") &&
                    X509_sign(certificate.get(), issuer_key.get(), EVP_sha256()) > 0;
  if (!made) return Fail(Broken("a serving certificate"));
  return CertifiedKey{ToPem(certificate.get()), ToPem(key.get())};
}

Result<std::vector<CertificateFacts>> ReadCertificates(std::string_view pem) {
  const ErrorScope scope;
  const Owned<BIO> reader = PemReader(pem);
  std::vector<CertificateFacts> all;
  while (const Owned<X509> certificate{PEM_read_bio_X509(reader.get(), nullptr, nullptr, nullptr)}) {
    all.push_back(
        {.pem = ToPem(certificate.get()),
         .validity = {ToTime(X509_get0_notBefore(certificate.get())), ToTime(X509_get0_notAfter(certificate.get()))},
         .names = NamesOf(certificate.get()),
         .authority = X509_check_ca(certificate.get()) == 1});
  }
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
    return Fail(Code::kInvalid, "a certificate is broken: it is not in PEM form");
  if (all.empty()) return Fail(Code::kInvalid, "there is no certificate in PEM form");
  return all;
}

bool Belongs(const CertifiedKey& pair) {
  const ErrorScope scope;
  const Owned<X509> certificate = ReadOne(pair.certificate_pem);
  const Owned<EVP_PKEY> key = ReadKey(pair.key_pem);
  return certificate && key && X509_check_private_key(certificate.get(), key.get()) == 1;
}

bool SignedBy(std::string_view certificate_pem, std::string_view authority_pem) {
  const ErrorScope scope;
  const Owned<X509> certificate = ReadOne(certificate_pem);
  const Owned<X509> authority = ReadOne(authority_pem);
  return certificate && authority && X509_verify(certificate.get(), X509_get0_pubkey(authority.get())) == 1;
}

}  // namespace capstan::net
