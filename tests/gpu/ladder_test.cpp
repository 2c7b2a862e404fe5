// Every rung of the ladder on a GPU: exact on integers, for sizes that are not a multiple of any tile.

#include "gpu/gpu_fixture.hpp"

#include "ladder/ladder.hpp"

#include <set>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

class LadderOnGpu : public GpuTest {
 protected:
  void expect_exact(const Rung& rung, const Gpu::Kernel& kernel, DType accumulator, std::int64_t m, std::int64_t n,
                    std::int64_t k) {
    GemmCase c{.problem = {.m = m, .n = n, .k = k, .op_b = rung.op_b, .types = types_of(rung.traits(accumulator))}};
    c.set_tight_ld(16);  // rows of s8 too begin at multiples of 16 bytes
    SCOPED_TRACE(c.text());
    CaseRun run(driver(), c, stream());
    run.fill(CaseRun::Data::integers, 5);
    run.run(launcher(kernel, ladder_launch(rung, n), c.problem));
    EXPECT_EQ(run.inexact(), "");
    EXPECT_EQ(run.stray_write(), "");
  }
};

TEST_F(LadderOnGpu, EveryRungIsExact) {
  const ArchLimits& arch = arch_limits(gpu().arch());
  std::vector<Gpu::KernelRequest> requests;
  std::vector<const Rung*> rung_of;
  for (const Rung& rung : rungs()) {
    if (!rung.config) continue;
    for (const DType accumulator : std::set{ladder_sums(rung.element), DType::f32}) {
      const GemmTraits traits = rung.traits(accumulator);
      if (!is_legal(*rung.config, traits, arch)) continue;
      requests.push_back({*rung.config, traits});
      rung_of.push_back(&rung);
    }
  }
  const std::vector<Gpu::Kernel> kernels = gpu().kernels(requests);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    SCOPED_TRACE(rung_of[i]->label);
    const DType accumulator = requests[i].traits.accumulator;
    expect_exact(*rung_of[i], kernels[i], accumulator, 517, 777, 133);
    if (!small_run()) expect_exact(*rung_of[i], kernels[i], accumulator, 256, 1024, 256);
    expect_exact(*rung_of[i], kernels[i], accumulator, 1, 8, 1);
  }
}

}  // namespace
}  // namespace hotgemm
