// One API server for the whole test program; main.cc starts it.
#pragma once

#include "kube/testing/real_apiserver.h"

namespace capstan::kube::testing {

RealApiserver& Apiserver();

}  // namespace capstan::kube::testing
