// One API server for the whole test program; main.cc starts it.
#pragma once

#include "kube/testing/apiserver_environment.h"
