#pragma once

#include "gpu/gpu_fixture.hpp"

#include "emulate/epilogue_reference.hpp"
#include "plan/candidates.hpp"
#include "plan/model.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace hotgemm {

/// The fused form of a bare product. `turn` counts the cases of a test, so that forms take turns.
using FusedForm = std::function<Workload(const Workload& bare, std::size_t turn)>;

/// Compares fused kernels with a reference in f64: exactly on integers where the epilogue is exact, else by its gate.
class FusedOnGpu : public GpuTest {
 protected:
  static constexpr const char* kSizes[] = {"203 312 272 nt "};
  static constexpr const char* kOperands[] = {" align=16", " align=16 beta=1", " align=4"};

  /// Runs one of `step` anchors of all products of these types, sizes and operands. Expects `least` cases or more.
  void expect_anchors_right(std::span<const char* const> types, std::size_t step, std::size_t least,
                            const FusedForm& fused, std::span<const char* const> sizes = kSizes,
                            std::span<const char* const> operands = kOperands) {
    const ArchLimits& arch = arch_limits(gpu().arch());
    std::vector<Gpu::KernelRequest> requests;
    std::vector<GemmCase> cases;
    std::size_t anchor = 0;
    const auto add = [&](const Workload& bare) {
      for (const KernelConfig& config : anchors(bare, arch)) {
        if (++anchor % step != 0) continue;
        const GemmCase c = case_of(fused(bare, anchor / step), anchor / step);
        if (!is_legal(config, traits_of(c.described()), arch)) continue;
        requests.push_back({config, traits_of(c.described())});
        cases.push_back(c);
      }
    };
    for (const char* type : types) {
      for (const char* size : sizes) {
        for (const char* rest : operands) add(parse_workload(std::string(size) + type + rest));
      }
    }
    ASSERT_GE(cases.size(), least);
    const std::vector<Gpu::Kernel> kernels = gpu().kernels(requests);
    for (std::size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE(to_string(requests[i].config) + " " + cases[i].text());
      const LaunchConfig launch = default_launch(requests[i].config, cases[i].described(), gpu().state().info());
      expect_right(cases[i], launcher(kernels[i], launch, cases[i].problem));
    }
    std::printf("%zu kernels, worst error %.3f of its gate\n", cases.size(), worst_);
  }

  /// Calls with each of `forms` forms of each product; in a small run with one of `step` of them.
  void expect_calls_right(std::span<const char* const> products, std::size_t forms, std::size_t step,
                          const FusedForm& fused) {
    std::size_t turn = 0;
    for (const char* bare : products) {
      for (std::size_t form = 0; form < forms; ++form) {
        const std::size_t now = turn++;
        if (small_run() && now % step != 0) continue;
        const GemmCase c = case_of(fused(parse_workload(bare), now), now);
        SCOPED_TRACE(c.text());
        expect_right(c, [&](const Operands& o) { gpu().context().gemm(stream(), c.problem, o); });
      }
    }
    std::printf("worst error %.3f of its gate\n", worst_);
  }

  static GemmCase case_of(const Workload& problem, std::size_t turn) {
    GemmCase c{.problem = problem, .beta = problem.hints.beta_is_zero ? 0.0f : -1.0f};
    if (problem.types.a == DType::s8) c.alpha = size_bytes(problem.types.d) == 1 ? 0x1p-5f : 0x1p-8f;
    c.set_tight_ld(problem.hints.align_d >= 16 ? 16 : problem.hints.align_d / size_bytes(problem.types.d));
    c.in_place = c.beta != 0 && turn % 3 == 0;
    c.residual_in_place = problem.epilogue.residual && turn % 3 == 1;
    return c;
  }

 private:
  void expect_right(const GemmCase& c, const CaseRun::Launch& launch) {
    CaseRun run(driver(), c, stream());
    run.fill(CaseRun::Data::integers, 7);
    run.run(launch);
    // The product of two sums of s8, as a gate has it, has more bits than f32.
    if (emulate::is_exact(c.problem.epilogue) && !(c.problem.epilogue.is_gated() && is_integer(c.problem.types.a))) {
      EXPECT_EQ(run.inexact(), "");
    }
    EXPECT_EQ(run.stray_write(), "");
    run.fill(CaseRun::Data::normal, 8);
    run.run(launch);
    EXPECT_LE(run.worst_error(), 1.0);
    worst_ = std::max(worst_, run.worst_error());
  }

  double worst_ = 0;  ///< of all errors, in units of their gates
};

}  // namespace hotgemm
