// Text in columns, for people.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace capstan::listing {

struct Column {
  std::string_view title;
  bool is_number = false;  // set to the right
  size_t width = 0;        // in characters, at least
};

// Rows of cells, one for each column. Columns are as wide as their widest cell, two blanks apart; an empty cell shows as "-".
// Bytes that a terminal takes for a command are left out of it. The column widths last: rows that are added later stand below
// those before as far as they fit.
class Table {
 public:
  explicit Table(std::vector<Column> columns);

  // The titles and these rows, each with its line's end.
  std::string Begin(const std::vector<std::vector<std::string>>& rows);
  // One row more.
  std::string Row(const std::vector<std::string>& cells);

 private:
  void Widen(const std::vector<std::string>& cells);
  std::string Line(const std::vector<std::string>& cells) const;

  std::vector<Column> columns_;
  std::vector<size_t> widths_;  // in characters
};

}  // namespace capstan::listing
