// JSON trees as YAML text, for files that people read.
#pragma once

#include <string>

#include "json/value.h"

namespace capstan::json {

// Block style, two blanks a level, keys sorted by bytes. Text is quoted only where YAML would take it for
// something else; of several lines it is a literal block. Equal values give equal text; any YAML 1.1 or 1.2 reader gives the value back.
std::string ToYaml(const Value& value);

}  // namespace capstan::json
