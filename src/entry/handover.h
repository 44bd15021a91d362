// How one of several slurmctld gives control back to one that comes before it in SlurmctldHost.
//
// Slurm's own way costs half a minute in which nobody answers: the one in charge waits for its own answer to
// REQUEST_CONTROL until that is too late, and the other reads the state while it may still be written; and one that cannot
// reach the other begins to write as well. So who comes back asks by a file beside the state, before its slurmctld starts:
//
//   who comes back                            who is in charge
//   counts up in the file, and waits          sees it count, and stops its slurmctld, which saves the state
//   starts when the file is gone              removes the file when slurmctld has ended, and ends, to stand by next time
//
// Nobody starts while another shows in the heartbeat that it writes. For one thread; never waits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "entry/configuration.h"
#include "entry/heartbeat.h"

namespace capstan::entry {

class Handover {
 public:
  // `host`: this one's name in SlurmctldHost. Does nothing for one of one.
  Handover(const Configuration& configuration, const std::string& host);

  // Before slurmctld starts, again and again, half a second apart: whether it must wait. Asks the one in charge meanwhile.
  bool MustWait();

  // The same, without asking.
  bool WouldWait() const;
  // Whether another one writes the state, wherever it stands among them. The heartbeat of one that is not the first counts as
  // another's until it is late, even if it is this one's: one that comes before it may just have taken control, and not written yet.
  bool AnotherWrites() const;

  // While slurmctld runs, a second apart at least: whether one that comes before it waits.
  bool IsAsked();
  // slurmctld, which was stopped for that, has ended.
  void GiveUp() const;

  bool concerns_us() const { return own_ >= 0; }

 private:
  // Who of them writes the state, as far as can be seen.
  std::optional<uint64_t> Writer() const;

  const Configuration configuration_;
  int own_ = -1;  // the place among SlurmctldHost; -1: not among several
  std::string path_;
  int count_ = 0;                  // how often it has asked, or tried to
  bool asked_ = false;             // the file was there when it was last written: gone now, it was answered
  std::string seen_;               // the file when it was looked at last
  std::optional<Heartbeat> last_;  // of who has given control back, and has ended
};

}  // namespace capstan::entry
