#include "json/yaml_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <vector>

#include "base/text.h"
#include "json/codec.h"

namespace capstan::json {
namespace {

// True for text that every YAML reader takes as this text, without quotes, in a block.
bool IsPlain(std::string_view text) {
  constexpr std::array<std::string_view, 9> kWords = {"true", "false", "null", "yes", "no", "on", "off", "y", "n"};
  if (text.empty() || !std::isalpha(static_cast<unsigned char>(text.front())) || text.back() == ' ') return false;
  if (std::ranges::find(kWords, ToLower(text)) != kWords.end()) return false;
  constexpr std::string_view kHarmless = "_./ ,;()'<>=*|+@^$-";
  return std::ranges::all_of(text, [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || kHarmless.find(c) != std::string_view::npos;
  });
}

void AppendText(std::string& out, std::string_view text) {
  if (IsPlain(text)) {
    out += text;
  } else {
    AppendQuoted(out, text);
  }
}

// Text of several lines that a literal block gives back as it is.
bool IsLiteral(std::string_view text) {
  if (!text.contains('\n') || text.front() == ' ' || text.front() == '\n' || text.front() == '\t') return false;
  return std::ranges::all_of(text, [](char c) { return (c >= ' ' && c <= '~') || c == '\n' || c == '\t'; });
}

bool IsBlock(const Value& value) {
  return (value.is_object() && !value.get_object().empty()) || (value.is_array() && !value.get_array().empty());
}

class Writer {
 public:
  std::string out;

  // `first_indent` is false where the first line already stands behind "- ".
  void Block(const Value& value, int depth, bool first_indent) {
    if (const auto* object = value.if_object(); object != nullptr && !object->empty()) {
      Members(*object, depth, first_indent);
    } else if (const auto* list = value.if_array(); list != nullptr && !list->empty()) {
      for (const Value& element : *list) {
        if (first_indent) Indent(depth);
        first_indent = true;
        out += "- ";
        Block(element, depth + 1, false);
      }
    } else {
      if (first_indent) Indent(depth);
      Scalar(value, depth);
    }
  }

 private:
  void Indent(int depth) { out.append(size_t(depth) * 2, ' '); }

  // With the end of its line. `depth`: of what stands below the line.
  void Scalar(const Value& value, int depth) {
    const auto* text = value.if_string();
    if (text != nullptr && depth > 0 && IsLiteral(*text)) return Literal(*text, depth);
    if (text != nullptr)
      AppendText(out, std::string_view(*text));
    else
      out += SerializeCanonical(value);
    out += '\n';
  }

  void Literal(std::string_view text, int depth) {
    out += !text.ends_with('\n') ? "|-\n" : text.ends_with("\n\n") ? "|+\n" : "|\n";
    if (text.ends_with('\n')) text.remove_suffix(1);
    for (const std::string_view line : Split(text, '\n')) {
      if (!line.empty()) Indent(depth);
      out += line;
      out += '\n';
    }
  }

  void Members(const boost::json::object& object, int depth, bool first_indent) {
    std::vector<const boost::json::key_value_pair*> members;
    for (const auto& member : object) members.push_back(&member);
    std::ranges::sort(members, {}, [](const auto* member) { return std::string_view(member->key()); });
    for (const auto* member : members) {
      if (first_indent) Indent(depth);
      first_indent = true;
      AppendText(out, std::string_view(member->key()));
      out += ':';
      if (IsBlock(member->value())) {
        out += '\n';
        // A list stands at the column of its key, as Kubernetes' own files have it.
        Block(member->value(), member->value().is_array() ? depth : depth + 1, true);
      } else {
        out += ' ';
        Scalar(member->value(), depth + 1);
      }
    }
  }
};

}  // namespace

std::string ToYaml(const Value& value) {
  Writer writer;
  writer.Block(value, 0, true);
  return std::move(writer.out);
}

}  // namespace capstan::json
