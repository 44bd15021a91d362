#include "listing/table.h"

#include <algorithm>

#include "base/text.h"

namespace capstan::listing {
namespace {

constexpr size_t kLongestCell = 4096;  // bytes

// Of UTF-8: bytes that do not go on with a character.
size_t CharactersOf(std::string_view text) {
  return size_t(std::ranges::count_if(text, [](char byte) { return (uint8_t(byte) & 0xc0) != 0x80; }));
}

std::string CellText(std::string_view cell) {
  std::string shown = OneLine(cell, kLongestCell);
  return Trim(shown).empty() ? "-" : shown;
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  for (const Column& column : columns_) widths_.push_back(std::max(column.width, CharactersOf(column.title)));
}

std::string Table::Begin(const std::vector<std::vector<std::string>>& rows) {
  for (const auto& cells : rows) Widen(cells);
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.emplace_back(column.title);
  std::string text = Line(titles);
  for (const auto& cells : rows) text += Line(cells);
  return text;
}

std::string Table::Row(const std::vector<std::string>& cells) {
  Widen(cells);
  return Line(cells);
}

void Table::Widen(const std::vector<std::string>& cells) {
  for (size_t i = 0; i < columns_.size(); ++i) widths_[i] = std::max(widths_[i], CharactersOf(CellText(cells[i])));
}

std::string Table::Line(const std::vector<std::string>& cells) const {
  std::string line;
  for (size_t i = 0; i < columns_.size(); ++i) {
    const std::string cell = CellText(cells[i]);
    const std::string blanks(widths_[i] - CharactersOf(cell), ' ');
    line += columns_[i].is_number ? blanks + cell : cell + blanks;
    line += "  ";
  }
  return line.erase(line.find_last_not_of(' ') + 1) + "\n";
}

}  // namespace capstan::listing
