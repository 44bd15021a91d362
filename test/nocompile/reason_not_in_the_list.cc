// layer: operator
// expect: is not a constant expression
// A condition's reason is a word of the list: nobody spells one fact in two ways.
#include "operator/findings.h"

void Find(capstan::op::Findings& findings) {
#ifdef OFFENCE
  findings.Problem("ControllerMissing", "there is none");
#else
  findings.Problem("ControllerNotFound", "there is none");
#endif
}
