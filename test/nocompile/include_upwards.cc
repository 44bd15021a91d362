// layer: kube
// expect: 'operator/nodeset/decide.h' file not found
// The Kubernetes runtime knows nothing of the operator.
#include "base/result.h"
#ifdef OFFENCE
#include "operator/nodeset/decide.h"
#endif
