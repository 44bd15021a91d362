#include "net/http1.h"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/status.hpp>
#include <charconv>

#include "base/text.h"

namespace http = boost::beast::http;
using boost::system::error_code;

namespace capstan::net {

// What both kinds of parser have in common, free of Beast's templates.
class MessageParser::Machine {
 public:
  virtual ~Machine() = default;
  virtual size_t Put(std::string_view bytes, error_code& error) = 0;
  virtual void PutEnd(error_code& error) = 0;
  virtual bool header_done() const = 0;
  virtual bool done() const = 0;
  virtual bool keep_alive() const = 0;

  int status = 0;
  std::string method;
  std::string target;
  Headers headers;
  std::string body;
};

template <bool is_request>
class MessageParser::MachineOf final : public Machine, private http::basic_parser<is_request> {
  using Parser = http::basic_parser<is_request>;
  using View = boost::beast::string_view;

 public:
  MachineOf(HttpLimits limits, bool skip_body) {
    this->eager(true);
    this->skip(skip_body);
    this->header_limit(uint32_t(limits.header_bytes));
    if (limits.body_bytes == SIZE_MAX) {
      this->body_limit(boost::none);
    } else {
      this->body_limit(limits.body_bytes);
    }
  }

  size_t Put(std::string_view bytes, error_code& error) override {
    return this->put(boost::asio::const_buffer(bytes.data(), bytes.size()), error);
  }
  void PutEnd(error_code& error) override { this->put_eof(error); }
  bool header_done() const override { return this->is_header_done(); }
  bool done() const override { return this->is_done(); }
  bool keep_alive() const override { return Parser::keep_alive(); }

 private:
  static std::string Copy(View text) { return std::string(text.data(), text.size()); }

  void on_request_impl(http::verb, View name, View path, int, error_code&) override {
    this->method = Copy(name);
    this->target = Copy(path);
  }
  void on_response_impl(int code, View, int, error_code&) override { this->status = code; }
  void on_field_impl(http::field, View name, View value, error_code&) override {
    this->headers.emplace_back(Copy(name), Copy(value));
  }
  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<uint64_t>& length, error_code&) override {
    // Trusted only so far: the sender may announce what it never sends.
    if (length) this->body.reserve(size_t(std::min<uint64_t>(*length, 1 << 20)));
  }
  size_t on_body_impl(View bytes, error_code&) override {
    this->body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_chunk_header_impl(uint64_t, View, error_code&) override {}
  size_t on_chunk_body_impl(uint64_t, View bytes, error_code&) override {
    this->body.append(bytes.data(), bytes.size());
    return bytes.size();
  }
  void on_finish_impl(error_code&) override {}
};

static std::unexpected<Error> TooLarge(std::string_view part, size_t limit) {
  return Fail(Code::kInvalid, "the " + std::string(part) + " is larger than is allowed here: " + std::to_string(limit) +
                                  " bytes at most");
}

MessageParser::MessageParser(Kind kind, HttpLimits limits) : limits_(limits) {
  if (kind == Kind::kRequest) {
    machine_ = std::make_unique<MachineOf<true>>(limits, false);
  } else {
    machine_ = std::make_unique<MachineOf<false>>(limits, kind == Kind::kResponseToHead);
  }
}
MessageParser::~MessageParser() = default;

Result<void> MessageParser::Feed(std::string& bytes) {
  size_t used = 0;
  while (used < bytes.size() && !done()) {
    error_code error;
    const size_t took = machine_->Put(std::string_view(bytes).substr(used), error);
    used += took;
    if (error && error != http::error::need_more) {
      if (error == http::error::header_limit) {
        refusal_ = 431;
        return TooLarge("header", limits_.header_bytes);
      }
      if (error == http::error::body_limit) {
        refusal_ = 413;
        return TooLarge("body", limits_.body_bytes);
      }
      return Fail(Code::kInvalid, "not HTTP: " + error.message());
    }
    if (error || took == 0) break;
  }
  bytes.erase(0, used);
  return {};
}

Result<void> MessageParser::End() {
  if (done()) return {};
  error_code error;
  if (header_done()) machine_->PutEnd(error);
  if (!header_done() || error) return Fail(Code::kUnavailable, "the connection ended in the middle of a message");
  return {};
}

bool MessageParser::header_done() const { return machine_->header_done(); }
bool MessageParser::done() const { return machine_->done(); }
bool MessageParser::keep_alive() const { return machine_->keep_alive(); }
int MessageParser::status() const { return machine_->status; }
const std::string& MessageParser::method() const { return machine_->method; }
const std::string& MessageParser::target() const { return machine_->target; }
Headers& MessageParser::headers() { return machine_->headers; }
std::string& MessageParser::body() { return machine_->body; }

// --------------------------------------------------------------------------------------------------------

namespace {

// No blank, no control character: those end a method or a target.
bool IsWord(std::string_view text) {
  for (const unsigned char c : text) {
    if (c <= ' ' || c == 0x7f) return false;
  }
  return !text.empty();
}

bool IsLine(std::string_view text) { return text.find_first_of(std::string_view("\r\n\0", 3)) == text.npos; }

bool IsOurs(std::string_view name) {
  return EqualsIgnoreCase(name, "Host") || EqualsIgnoreCase(name, "Content-Length") ||
         EqualsIgnoreCase(name, "Transfer-Encoding");
}

void AddHeader(std::string& out, std::string_view name, std::string_view value) {
  out.append(name).append(": ").append(value).append("\r\n");
}

}  // namespace

Result<std::string> Serialized(const Request& request, std::string_view host, std::string_view user_agent,
                               const Secret& bearer_token) {
  if (!IsWord(request.method)) return Fail(Code::kInvalid, "the request's method is not one word");
  if (!IsWord(request.target)) return Fail(Code::kInvalid, "the request's target is empty or holds blanks");
  if (!IsLine(user_agent)) return Fail(Code::kInvalid, "the user agent is not one line");
  std::string out;
  size_t room = 512 + host.size() + user_agent.size() + bearer_token.Reveal().size() + request.target.size() +
                request.body.size();
  for (const auto& [name, value] : request.headers) room += name.size() + value.size() + 4;
  out.reserve(room);  // growing would leave copies of the token behind
  out.append(request.method).append(" ").append(request.target).append(" HTTP/1.1\r\n");
  AddHeader(out, "Host", host);
  AddHeader(out, "User-Agent", user_agent);
  for (const auto& [name, value] : request.headers) {
    if (IsOurs(name)) return Fail(Code::kInvalid, "the request's header \"" + name + "\" is the transport's to add");
    if (!IsWord(name) || name.find(':') != name.npos || !IsLine(value))
      return Fail(Code::kInvalid, "the request's header \"" + name + "\" is not one line");
    AddHeader(out, name, value);
  }
  if (!bearer_token.empty()) {
    if (!IsWord(bearer_token.Reveal())) return Fail(Code::kUnauthenticated, "the bearer token is not one word");
    out.append("Authorization: Bearer ").append(bearer_token.Reveal()).append("\r\n");
  }
  if (!request.body.empty() || request.method == "POST" || request.method == "PUT" || request.method == "PATCH") {
    AddHeader(out, "Content-Length", std::to_string(request.body.size()));
  }
  return out.append("\r\n").append(request.body);
}

std::string Head(const Response& response, bool keep_alive) {
  const auto reason = http::obsolete_reason(http::int_to_status(unsigned(response.status)));
  std::string out = "HTTP/1.1 " + std::to_string(response.status) + " ";
  out.append(reason.data(), reason.size()).append("\r\n");
  for (const auto& [name, value] : response.headers) AddHeader(out, name, value);
  AddHeader(out, "Content-Length", std::to_string(response.body.size()));
  if (!keep_alive) AddHeader(out, "Connection", "close");
  return out += "\r\n";
}

}  // namespace capstan::net
