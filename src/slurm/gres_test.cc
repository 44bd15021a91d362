#include "slurm/gres.h"

#include <gtest/gtest.h>

namespace capstan::slurm {
namespace {

TEST(Gres, AreCountedByNameOverAllTypes) {
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
                        {"gpu:9999999999999999999999", 1},
                        {"gpu:2K,gpu:no_consume:1", 2049},
                        {"gpu:2(S:0", 2},
                        {"(,gpu:1", 0},
                        {" gpu:1 , gpu:1", 2}};
  for (const Case& c : cases) EXPECT_EQ(Gres::Parse(c.gres).Count("gpu"), c.gpus) << c.gres;
  EXPECT_EQ(Gres::Parse("gpu:8589934592G,gpu:8589934592G").Count("gpu"), int64_t{1} << 40) << "sums of such fit";
}

}  // namespace
}  // namespace capstan::slurm
