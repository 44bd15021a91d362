// Every test kit of the installed runtime, as other projects include them.
#include <gtest/gtest.h>

#include "async/testing/into.h"
#include "base/testing/captured_log.h"
#include "json/testing/golden.h"
#include "json/testing/message.h"
#include "kube/testing/apiserver_environment.h"
#include "kube/testing/counted.h"
#include "kube/testing/fake_api_server.h"
#include "kube/testing/fake_objects.h"
#include "kube/testing/fake_target.h"
#include "kube/testing/fake_watch.h"
#include "kube/testing/field_ownership.h"
#include "kube/testing/frames.h"
#include "kube/testing/json_patch.h"
#include "kube/testing/lagging_server.h"
#include "kube/testing/real_apiserver.h"
#include "kube/testing/run_virtual.h"
#include "kube/testing/scripted_server.h"
#include "kube/testing/scripted_transport.h"
#include "kube/testing/selectors.h"
#include "kube/testing/thing.h"
#include "net/testing/certificates.h"
#include "net/testing/connect_proxy.h"
#include "net/testing/faulty_link.h"
#include "net/testing/run.h"
#include "net/testing/scripted_server.h"
#include "net/testing/server_end.h"
#include "plan/testing/shelves.h"
#include "plan/testing/world.h"
#include "slurm/testing/fake_slurm.h"
#include "slurm/testing/fake_slurmrestd.h"

TEST(Kits, AreLinked) {
  const capstan::plan::testing::TestWorld world("default");
  EXPECT_TRUE(world.failures.empty());
}
