// How a worker goes, in a scale-in, an update or with its NodeSet: it is marked, drained, proven free, and deleted as it was
// seen. Pure.
#pragma once

#include <string>

#include "operator/nodeset/look.h"

namespace capstan::op::nodeset {

// For what a worker goes.
struct Errand {
  std::string why;        // in words
  plan::EventText event;  // told of its drain
  bool to_none = false;   // no worker stays, so that nobody chooses among them
  bool may_be_deleted = true;
};

// The next step of a worker that goes, as far as it has come.
plan::Plan Go(const Look& look, const Worker& worker, const Errand& errand);

// Replaces a worker whose pod has ended. Nothing of it runs, so nothing can be lost; the exact version that was seen is the
// proof.
plan::Plan RemoveEnded(const Look& look, const Worker& worker);

}  // namespace capstan::op::nodeset
