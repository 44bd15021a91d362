#include "slurm/gres.h"

#include <gtest/gtest.h>

namespace capstan::slurm {
namespace {

TEST(GresCount, IsOfAllTypesOfOneName) {
  struct Case {
    const char* gres;
    int64_t gpus;
  };
  const Case cases[] = {{"", 0},
                        {"gpu:2", 2},
                        {"gpu:a100:4(S:0-1),gpu:h100:2(S:0,1),shard:8", 6},
                        {"gpus:3,shard:gpu:8", 0},
                        {"gpu", 1},
                        {"gpu:tesla", 1},
                        {"gpu:", 1},
                        {"gpu:9999999999999999999999", 0},
                        {"gpu:2(S:0", 2},
                        {"(,gpu:1", 0},
                        {" gpu:1 , gpu:1", 2}};
  for (const Case& c : cases) EXPECT_EQ(GresCount(c.gres, "gpu"), c.gpus) << c.gres;
}

}  // namespace
}  // namespace capstan::slurm
