// layer: slurm
// expect: 'kube/client.h' file not found
// The Slurm library and the Kubernetes runtime know nothing of each other.
#include "net/http.h"
#ifdef OFFENCE
#include "kube/client.h"
#endif
