// Defaults of field tables, filled in as the API server fills them in: ApplyDefaults(kType<Website>, &website).
#pragma once

#include "json/schema.h"

namespace capstan::json {

// Every absent member with a default gets it, at any depth: in members that hold something, in the elements
// of lists and maps, and in absent objects marked AbsentIsEmpty(), which come into being for it. Never undoes
// anything, and doing it twice is doing it once. A default that its member cannot hold ends the process: it
// is a mistake in a table.
void ApplyDefaults(const Type& type, void* value);

}  // namespace capstan::json
