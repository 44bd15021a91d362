// Ports that tests listen on.
#pragma once

#include <unistd.h>

#include <cstdint>

namespace capstan::entry {

// Of this process alone, and none that the kernel gives to somebody's connection (from 32768 on). `which`: 0 to 3.
inline uint16_t TestPort(int which) { return static_cast<uint16_t>(10'000 + getpid() % 5'000 * 4 + which); }

}  // namespace capstan::entry
