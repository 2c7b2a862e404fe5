// Kernels, chosen by their configs, for many sizes, layouts, types, offsets and scalars.

#include "gpu/gpu_fixture.hpp"
#include "gpu/pairwise.hpp"
#include "gpu/test_configs.hpp"

#include "config/device_info.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <tuple>
#include <utility>

namespace hotgemm {
namespace {

constexpr Op kOps[] = {Op::n, Op::t};

// ---- the factors of the pairwise sweep ----

constexpr std::int64_t kSizes[] = {1, 7, 8, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 257};
constexpr int kOffsets[] = {0, 1, 2, 4};
constexpr std::pair<float, float> kScalars[] = {{1, 0},  {1, 1}, {-1, 1}, {0.5f, 0},
                                                {2, -1}, {0, 1}, {0, 0},  {-1, 0.5f}};
constexpr LaunchConfig kLaunches[] = {{1, false}, {2, true}, {8, false}, {3, true}};

/// Leading dimensions: the minimum, larger ones, and ones for each access width.
constexpr int kLdKinds = 7;
std::int64_t leading_dimension(int kind, std::int64_t cols) {
  switch (kind) {
    case 0: return cols;
    case 1: return cols + 1;
    case 2: return cols + 3;
    case 3: return cols + 8;
    case 4: return (cols + 7) / 8 * 8;
    case 5: return (cols + 11) / 8 * 8 - 4;  // a multiple of 4, but not of 8
    default: return (cols + 1) / 4 * 4 + 2;  // a multiple of 2, but not of 4
  }
}

enum Factor {
  kM,
  kN,
  kK,
  kOpA,
  kOpB,
  kTypes,
  kLdA,
  kLdB,
  kLdC,
  kLdD,
  kOffA,
  kOffB,
  kOffC,
  kOffD,
  kScalar,
  kInPlace,
  kLaunch,
  kConfig,
  kFactors
};

struct SweepCase {
  GemmCase call;
  KernelConfig config;
  LaunchConfig launch;
};

std::string text_of(const SweepCase& c) {
  return c.call.text() + " " + to_string(c.config) + " " + to_string(c.launch);
}

GemmTraits traits_of_types(const KernelTypes& types) {
  return {.element = types.element,
          .accumulator = types.accumulator,
          .element_b = types.element_b,
          .element_d = types.element_d};
}

SweepCase case_of(const std::vector<int>& row, const TestFamily& family) {
  const auto level = [&](Factor factor) { return static_cast<std::size_t>(row[factor]); };
  SweepCase c{.call = {}, .config = family.configs[level(kConfig)], .launch = kLaunches[level(kLaunch)]};
  const KernelTypes& types = family.types[level(kTypes)];
  GemmCase& call = c.call;
  call.problem = {.m = kSizes[level(kM)],
                  .n = kSizes[level(kN)],
                  .k = kSizes[level(kK)],
                  .op_a = kOps[level(kOpA)],
                  .op_b = kOps[level(kOpB)],
                  .types = types_of(traits_of_types(types))};
  call.lda = leading_dimension(row[kLdA], call.cols_a());
  call.ldb = leading_dimension(row[kLdB], call.cols_b());
  call.ldc = leading_dimension(row[kLdC], call.problem.n);
  call.ldd = leading_dimension(row[kLdD], call.problem.n);
  call.offset_a = kOffsets[level(kOffA)];
  call.offset_b = kOffsets[level(kOffB)];
  call.offset_c = kOffsets[level(kOffC)];
  call.offset_d = kOffsets[level(kOffD)];
  std::tie(call.alpha, call.beta) = kScalars[level(kScalar)];
  if (types.element_d == DType::s32) call.alpha *= 2, call.beta *= 2;  // whole numbers
  call.in_place = row[kInPlace] != 0;
  return c;
}

/// Removes the configs that are not legal on `arch` for one of the family's problems.
TestFamily legal_on(TestFamily family, const std::string& arch) {
  std::erase_if(family.configs, [&](const KernelConfig& config) {
    for (const KernelTypes& types : family.types) {
      for (const Op op_a : kOps) {
        for (const Op op_b : kOps) {
          GemmTraits traits = traits_of_types(types);
          traits.op_a = op_a;
          traits.op_b = op_b;
          if (!is_legal(config, traits, arch_limits(arch))) return true;
        }
      }
    }
    return false;
  });
  return family;
}

std::vector<SweepCase> pairwise_cases(const TestFamily& family, std::size_t at_most) {
  std::vector<int> levels(kFactors, 2);
  for (const Factor factor : {kM, kN, kK}) levels[factor] = static_cast<int>(std::size(kSizes));
  for (const Factor factor : {kLdA, kLdB, kLdC, kLdD}) levels[factor] = kLdKinds;
  for (const Factor factor : {kOffA, kOffB, kOffC, kOffD}) levels[factor] = static_cast<int>(std::size(kOffsets));
  levels[kTypes] = static_cast<int>(family.types.size());
  levels[kScalar] = static_cast<int>(std::size(kScalars));
  levels[kLaunch] = static_cast<int>(std::size(kLaunches));
  levels[kConfig] = static_cast<int>(family.configs.size());
  std::vector<SweepCase> cases;
  const PairwiseTable table(levels, 1);
  for (const std::vector<int>& row : table.rows()) {
    if (cases.size() < at_most) cases.push_back(case_of(row, family));
  }
  return cases;
}

TEST(SweepConfigs, AreLegalOnHopperForEveryLayoutAndType) {
  for (const TestFamily& family :
       {mma_family(), simt_family(), mixed_types_family(), fma_family(), fma_words_family()}) {
    EXPECT_EQ(legal_on(family, "sm_90a").configs, family.configs);
  }
}

TEST(SweepConfigs, MeetEverySizeInEveryLayout) {
  const TestFamily family = mma_family();
  const std::vector<SweepCase> cases = pairwise_cases(family, SIZE_MAX);
  for (const std::int64_t size : kSizes) {
    for (const KernelConfig& config : family.configs) {
      EXPECT_TRUE(std::ranges::any_of(
          cases, [&](const SweepCase& c) { return c.call.problem.k == size && c.config == config; }));
    }
  }
  for (const int vec : {1, 2, 4, 8}) {  // each access width, with an edge that cuts an access
    EXPECT_TRUE(std::ranges::any_of(cases, [&](const SweepCase& c) {
      return traits_of(c.call.described()).vec_a == vec && c.call.cols_a() % 8 != 0;
    }));
  }
}

TEST(SweepConfigs, LeadingDimensionsAreLegal) {
  for (const std::int64_t cols : kSizes) {
    for (int kind = 0; kind < kLdKinds; ++kind) EXPECT_GE(leading_dimension(kind, cols), cols) << cols << " " << kind;
    EXPECT_EQ(leading_dimension(5, cols) % 8, 4);
    EXPECT_EQ(leading_dimension(6, cols) % 4, 2);
  }
}

class Sweep : public GpuTest {
 protected:
  std::vector<Gpu::Kernel> kernels_of(const std::vector<SweepCase>& cases) {
    std::vector<Gpu::KernelRequest> requests;
    for (const SweepCase& c : cases) requests.push_back({c.config, traits_of(c.call.described())});
    return gpu().kernels(requests);
  }

  /// Checks that the result is exact on integers and within the gate on random data, and that nothing outside of D is
  /// written. Returns the worst error.
  double check(const SweepCase& c, const Gpu::Kernel& kernel, unsigned seed) {
    SCOPED_TRACE(text_of(c));
    CaseRun run(driver(), c.call, stream());
    const CaseRun::Launch launch = launcher(kernel, c.launch, c.call.problem);
    run.fill(CaseRun::Data::integers, seed);
    run.run(launch);
    EXPECT_EQ(run.inexact(), "");
    EXPECT_EQ(run.stray_write(), "");
    run.fill(seed % 2 == 0 ? CaseRun::Data::normal : CaseRun::Data::uniform, seed);
    run.run(launch);
    EXPECT_LE(run.worst_error(), 1.0);
    EXPECT_EQ(run.stray_write(), "");
    return run.worst_error();
  }

  void sweep(const TestFamily& all, std::size_t small_count) {
    const TestFamily family = legal_on(all, gpu().arch());
    if (family.configs.empty()) GTEST_SKIP() << "no config of the family is legal on " << gpu().arch();
    const std::vector<SweepCase> cases = pairwise_cases(family, small_run() ? small_count : SIZE_MAX);
    const std::vector<Gpu::Kernel> kernels = kernels_of(cases);
    double worst = 0;
    for (std::size_t i = 0; i < cases.size(); ++i) {
      worst = std::max(worst, check(cases[i], kernels[i], static_cast<unsigned>(i)));
      if (HasFatalFailure()) return;
    }
    RecordProperty("cases", static_cast<int>(cases.size()));
    RecordProperty("worst_error_over_gate", std::to_string(worst));
    std::printf("%zu cases, largest error %.3f of what is allowed\n", cases.size(), worst);
  }
};

TEST_F(Sweep, TensorCoreKernelsAreRight) { sweep(mma_family(), 40); }
TEST_F(Sweep, CudaCoreKernelsAreRight) { sweep(simt_family(), 20); }
TEST_F(Sweep, KernelsOfMixedTypesAreRight) { sweep(mixed_types_family(), 40); }
TEST_F(Sweep, PackedCudaCoreKernelsAreRight) { sweep(fma_family(), 20); }
TEST_F(Sweep, PackedCudaCoreKernelsThatCopyWordsAreRight) { sweep(fma_words_family(), 20); }

// ---- every config in every layout ----

/// A few more k-tiles than stages, and edges in every direction that cut a tile, an access and an instruction.
GemmCase ragged_call(const KernelConfig& config, const KernelTypes& types, Op op_a, Op op_b) {
  const auto* mma = std::get_if<MmaConfig>(&config);
  const std::int64_t k =
      mma != nullptr ? (mma->stages + 2) * mma->block_k + 5 : 3 * std::get<SimtConfig>(config).block_k + 5;
  GemmCase call;
  call.problem = {.m = block_m(config) + 9,
                  .n = block_n(config) + 5,
                  .k = k,
                  .op_a = op_a,
                  .op_b = op_b,
                  .types = types_of(traits_of_types(types))};
  // Sums in f16 are exact only up to 2048.
  if (types.accumulator == DType::f16 && 4 * k > 2048) call.problem.types = uniform_types(types.element);
  call.set_tight_ld(8);
  return call;
}

std::vector<SweepCase> ragged_cases(const TestFamily& family, bool all_layouts) {
  std::vector<SweepCase> cases;
  for (std::size_t config = 0; config < family.configs.size(); ++config) {
    for (std::size_t layout = 0; layout < 4; ++layout) {
      if (!all_layouts && layout != config % 4) continue;
      const KernelTypes& types = family.types[(config + layout) % family.types.size()];
      cases.push_back({ragged_call(family.configs[config], types, kOps[layout / 2], kOps[layout % 2]),
                       family.configs[config], kLaunches[(config + layout) % std::size(kLaunches)]});
    }
  }
  return cases;
}

class Ragged : public Sweep {
 protected:
  static constexpr int kRepeats = 20;

  template <class Check>
  void for_each_case(bool all_layouts, const std::function<void(GemmCase&)>& edit, Check&& check) {
    for (const TestFamily& all : {mma_family(), simt_family()}) {
      std::vector<SweepCase> cases = ragged_cases(legal_on(all, gpu().arch()), all_layouts && !small_run());
      for (SweepCase& c : cases) edit(c.call);
      const std::vector<Gpu::Kernel> kernels = kernels_of(cases);
      for (std::size_t i = 0; i < cases.size(); ++i) {
        SCOPED_TRACE(text_of(cases[i]));
        CaseRun run(driver(), cases[i].call, stream());
        check(cases[i], run, kernels[i], static_cast<unsigned>(i));
      }
    }
  }
};

TEST_F(Ragged, EveryConfigInEveryLayoutIsRight) {
  for_each_case(
      true, [](GemmCase&) {},
      [&](const SweepCase& c, CaseRun&, const Gpu::Kernel& kernel, unsigned seed) { check(c, kernel, seed); });
}

TEST_F(Ragged, OneNanIsSeenInItsRowOrColumnOnly) {
  for_each_case(
      true, [](GemmCase&) {},
      [&](const SweepCase& c, CaseRun& run, const Gpu::Kernel& kernel, unsigned seed) {
        const Problem& p = c.call.problem;
        const CaseRun::Launch launch = launcher(kernel, c.launch, p);
        const auto row = static_cast<std::size_t>(p.m - 1 - seed % 5),
                   col = static_cast<std::size_t>(p.n - 1 - seed % 7);
        const auto depth = static_cast<std::size_t>(p.k - 1 - seed % 3);
        run.fill(CaseRun::Data::normal, seed);
        run.run(launch);
        const Bytes clean = run.found();
        run.set_a(row, depth, std::numeric_limits<float>::quiet_NaN());
        run.run(launch);
        EXPECT_EQ(run.not_nan_as([&](std::size_t i, std::size_t) { return i == row; }, clean), "") << "NaN in A";
        run.fill(CaseRun::Data::normal, seed);
        run.set_b(depth, col, std::numeric_limits<float>::quiet_NaN());
        run.run(launch);
        EXPECT_EQ(run.not_nan_as([&](std::size_t, std::size_t j) { return j == col; }, clean), "") << "NaN in B";
      });
}

TEST_F(Ragged, RunsGiveTheSameBits) {
  for_each_case(
      false, [](GemmCase&) {},
      [&](const SweepCase& c, CaseRun& run, const Gpu::Kernel& kernel, unsigned seed) {
        run.fill(CaseRun::Data::normal, seed);
        run.run(launcher(kernel, c.launch, c.call.problem));
        const Bytes first = run.found();
        for (int repeat = 1; repeat < kRepeats; ++repeat) {
          run.run(launcher(kernel, c.launch, c.call.problem));
          EXPECT_TRUE(run.found() == first) << "run " << repeat;
        }
      });
}

/// Computes beta * C in place where A and B must not be read: they are NaN with alpha zero, or null with k zero.
TEST_F(Ragged, NothingIsReadForAnEmptyProduct) {
  const auto scale_c = [](GemmCase& call) { call.alpha = 0, call.beta = -0.5f, call.in_place = true; };
  for_each_case(false, scale_c, [&](const SweepCase& c, CaseRun& run, const Gpu::Kernel& kernel, unsigned seed) {
    run.fill(CaseRun::Data::integers, seed);
    run.a().fill_nan();
    run.b().fill_nan();
    run.run(launcher(kernel, c.launch, c.call.problem));
    EXPECT_EQ(run.inexact(), "") << "alpha is zero";
    EXPECT_EQ(run.stray_write(), "");
    Problem empty = c.call.problem;
    empty.k = 0;
    run.run([&](Operands operands) {
      operands.a = operands.b = nullptr;
      operands.alpha = 1;
      launcher(kernel, c.launch, empty)(operands);
    });
    EXPECT_EQ(run.inexact(), "") << "k is zero";
  });
}

}  // namespace
}  // namespace hotgemm
