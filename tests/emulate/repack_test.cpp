// The kernel that repacks operands.

#include "emulate/kernels/utility_kernels.hpp"
#include "emulate/repack_run.hpp"

#include <gtest/gtest.h>

namespace hotgemm::emulate {
namespace {

TEST(RepackKernel, CopiesRowsAtAnyAddress) {
  for (const RepackCase& c : repack_cases()) {
    for (std::uint64_t seed = 1; seed < 4; ++seed) EXPECT_EQ(repack_complaint(c, seed, run_repack), "") << to_string(c);
  }
}

}  // namespace
}  // namespace hotgemm::emulate
