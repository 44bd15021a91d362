// What the present turn of this thread's event loop is about, for whoever asks why everything else had to wait.
//
// Who may work long says so first; the last one said counts, and is forgotten with the turn. RealLoop repeats it in the
// log when a turn took more than 50 ms.
#pragma once

#include <string_view>

namespace capstan::async {

void NameTurn(std::string_view what);

// "" when nobody said anything.
std::string_view TurnName();

}  // namespace capstan::async
