// Kernels that add in the same order give the same bits: every kind of config, aligned and unaligned operands, many
// rows and few, on data whose sums round at each step, whose sums lose almost all digits, and whose products underflow.

#include "gpu/gpu_fixture.hpp"
#include "gpu/guarded_matrix.hpp"

#include "config/repack.hpp"
#include "config/sum_order.hpp"
#include "config/workspace.hpp"
#include "plan/candidates.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

constexpr std::int64_t kMostRows = 333, kColumns = 272, kLength = 1032;  // k-tiles of 64 and of 128 append other zeros
constexpr std::int64_t kRows[] = {kMostRows, 64, 17, 1};

enum class Data {
  normal,  ///< N(0,1)
  wide,    ///< N(0,1) times powers of two between 2^-8 and 2^8
  tiny,    ///< products so small that sums of the type underflow
  zeros,   ///< zeros times negative numbers
};

/// The elements of op(A) and op(B).
struct Values {
  std::vector<float> a, b;
  float a_at(std::size_t i, std::size_t k) const { return a[i * kLength + k]; }
  float b_at(std::size_t k, std::size_t j) const { return b[k * kColumns + j]; }
};

Values values_of(Data data, const Types& types) {
  std::mt19937 random(static_cast<unsigned>(data) + 1);
  std::normal_distribution<float> normal;
  const float tiny = types.a == DType::f16 ? 0x1p-12f : 0x1p-70f;
  const auto value = [&](bool is_a) {
    const float x = normal(random);
    switch (data) {
      case Data::normal: return x;
      case Data::wide: return std::ldexp(x, static_cast<int>(random() % 17) - 8);
      case Data::tiny: return x * tiny;
      case Data::zeros: return is_a ? 0.0f : -std::abs(x);
    }
    return x;
  };
  Values values{std::vector<float>(kMostRows * kLength), std::vector<float>(kLength * kColumns)};
  for (float& x : values.a) x = value(true);
  for (float& x : values.b) x = value(false);
  return values;
}

struct Case {
  Types types;
  Op op_a;
  Op op_b;
  float beta;
};

/// The properties of a config that may have to do with its sums, apart from the sizes of its tiles.
std::string kind_of(const KernelConfig& config) {
  if (const auto* c = std::get_if<WgmmaConfig>(&config)) {
    WgmmaConfig kind = *c;
    kind.block_m = kind.block_n = kind.stages = 0;
    kind.blocks_per_sm = std::min(c->blocks_per_sm, 2);
    return to_string(KernelConfig(kind));
  }
  if (const auto* c = std::get_if<MmaConfig>(&config)) {
    MmaConfig kind = *c;
    kind.block_m = kind.block_n = kind.warps_m = kind.warps_n = 0;
    kind.blocks_per_sm = 1;
    return to_string(KernelConfig(kind));
  }
  return to_string(config);
}

class SumOrderOnGpu : public GpuTest {
 protected:
  struct Candidate {
    KernelConfig config;
    LaunchConfig launch;
    Gpu::Kernel kernel;
  };
  using Sequence = std::string;

  static Sequence text_of(const SumSequence& s) {
    return std::to_string(static_cast<int>(s.unit)) + " " + std::to_string(s.parts) + " " + std::to_string(s.step_k) +
           " " + std::to_string(s.block_m) + " " + std::to_string(s.block_n) + " " + std::to_string(s.consumers);
  }

  /// A config of each kind for `problem`: one drawn from its tiles.
  std::vector<Candidate> candidates_of(const Workload& problem, std::size_t most) const {
    std::map<std::string, std::vector<KernelConfig>> kinds;
    for (const KernelConfig& config : hotgemm::candidates(problem, arch_limits(gpu().arch()))) {
      kinds[kind_of(config)].push_back(config);
    }
    std::mt19937 random(5);
    std::vector<Candidate> picked;
    std::vector<Gpu::KernelRequest> requests;
    std::size_t turn = 0;
    for (const auto& [kind, configs] : kinds) {
      if (kinds.size() > most && turn++ % (kinds.size() / most) != 0) continue;
      Candidate c{.config = configs[random() % configs.size()], .launch = {}, .kernel = nullptr};
      c.launch = with_repacks({}, c.config, problem);
      if (splits_k(c.config)) c.launch.splits = 3;
      requests.push_back({c.config, traits_of(problem, c.launch)});
      picked.push_back(c);
    }
    const std::vector<Gpu::Kernel> kernels = gpu().kernels(requests);
    for (std::size_t i = 0; i < picked.size(); ++i) picked[i].kernel = kernels[i];
    return picked;
  }

  /// Runs every candidate on `data`, whose matrices begin `offset` elements behind a boundary, and compares D with that
  /// of the first candidate of the same order in `expected`.
  void compare(const Case& c, Data data, int offset, std::size_t most) {
    const Values values = values_of(data, c.types);
    const DType type = c.types.a;
    const auto ld = [&](std::int64_t columns) { return offset == 0 ? (columns + 7) / 8 * 8 : columns / 2 * 2 + 1; };
    const bool a_is_n = c.op_a == Op::n, b_is_n = c.op_b == Op::n;
    const std::int64_t lda = ld(a_is_n ? kLength : kMostRows), ldb = ld(b_is_n ? kColumns : kLength),
                       ldd = ld(kColumns);
    const auto matrix = [&](std::int64_t rows, std::int64_t columns, std::int64_t pitch) {
      return GuardedMatrix(driver(), type, rows, columns, pitch, offset, GuardedMatrix::Filling::nan);
    };
    GuardedMatrix a = a_is_n ? matrix(kMostRows, kLength, lda) : matrix(kLength, kMostRows, lda);
    GuardedMatrix b = b_is_n ? matrix(kLength, kColumns, ldb) : matrix(kColumns, kLength, ldb);
    GuardedMatrix addend = matrix(kMostRows, kColumns, ldd), d = matrix(kMostRows, kColumns, ldd);
    a.fill([&](std::size_t r, std::size_t s) { return a_is_n ? values.a_at(r, s) : values.a_at(s, r); });
    b.fill([&](std::size_t r, std::size_t s) { return b_is_n ? values.b_at(r, s) : values.b_at(s, r); });
    addend.fill([&](std::size_t r, std::size_t s) { return values.b_at(r, s); });
    for (const GuardedMatrix* m : {&a, &b, &addend, &d}) m->upload(stream());
    const Operands operands{.a = a.device(),
                            .b = b.device(),
                            .c = addend.device(),
                            .d = d.device(),
                            .lda = lda,
                            .ldb = ldb,
                            .ldc = ldd,
                            .ldd = ldd,
                            .alpha = 0.75f,
                            .beta = c.beta};
    const Problem problem{
        .m = kMostRows, .n = kColumns, .k = kLength, .op_a = c.op_a, .op_b = c.op_b, .types = c.types};
    for (const Candidate& candidate : candidates_of(describe(problem, operands), most)) {
      for (const std::int64_t m : kRows) {
        Problem some = problem;
        some.m = m;
        launch(candidate, some, operands);
        expect_same(candidate, m, d, d.download(stream()));
      }
    }
  }

  void launch(const Candidate& c, const Problem& p, const Operands& operands) {
    const WorkspaceSize size = workspace_size(c.config, c.launch, p);
    const DeviceBuffer memory(driver(), size.total_bytes() + WorkspaceSize::kAlignment);
    driver().check(driver().cuMemsetD8Async(memory.get(), 0, memory.bytes(), stream()), "clear the workspace");
    const auto repack = repacks(c.launch) ? gpu().state().repack_kernel() : nullptr;
    driver().check(
        launch_gemm(driver(), *c.kernel, c.launch, p.m, p.n, p.k, operands, stream(),
                    {.scratch = memory.get() + size.counter_bytes(), .counters = memory.get()}, repack.get()),
        "launch " + to_string(c.config));
    driver().check(driver().cuStreamSynchronize(stream()), "wait for " + to_string(c.config));
  }

  void expect_same(const Candidate& c, std::int64_t m, const GuardedMatrix& d, const Bytes& found) {
    const Sequence sequence = text_of(sum_sequence(c.config, c.launch));
    Expected& expected = expected_[sequence];
    ++expected.compared;
    const bool is_first = expected.d.empty();
    std::size_t different = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(m); ++i) {
      for (std::size_t j = 0; j < kColumns; ++j) {
        const auto bits = std::bit_cast<std::uint32_t>(d.get(found, i, j));
        if (is_first) {
          expected.d.push_back(bits);
        } else if (bits != expected.d[i * kColumns + j]) {
          ++different;
        }
      }
    }
    if (is_first) expected.from = to_string(c.config);
    EXPECT_EQ(different, 0U) << "of " << m * kColumns << " elements of " << to_string(c.config) << " "
                             << to_string(c.launch) << " differ from those of " << expected.from << ", order "
                             << sequence;
  }

  void expect_equal_bits(const Case& c) {
    const std::size_t most = small_run() ? 6 : 64;
    for (const Data data : {Data::normal, Data::wide, Data::tiny, Data::zeros}) {
      SCOPED_TRACE("data " + std::to_string(static_cast<int>(data)));
      expected_.clear();
      compare(c, data, 0, most);
      compare(c, data, 1, most / 2);
      const Sequence wanted = text_of(invariant_sequence(c.types, arch_limits(gpu().arch())));
      EXPECT_GE(expected_[wanted].compared, 10) << "too few kernels for batch-invariant problems were compared";
    }
  }

 private:
  struct Expected {
    std::string from;
    std::vector<std::uint32_t> d;
    int compared = 0;
  };
  std::map<Sequence, Expected> expected_;
};

TEST_F(SumOrderOnGpu, GivesEqualBitsInF16) { expect_equal_bits({kF16, Op::n, Op::t, 0}); }
TEST_F(SumOrderOnGpu, GivesEqualBitsInF16ForOtherLayouts) { expect_equal_bits({kF16, Op::t, Op::n, 0}); }
TEST_F(SumOrderOnGpu, GivesEqualBitsInBf16WithC) { expect_equal_bits({kBf16, Op::n, Op::n, 0.5f}); }
TEST_F(SumOrderOnGpu, GivesEqualBitsWithSumsInF16) {
  expect_equal_bits({uniform_types(DType::f16, ComputeType::f16), Op::t, Op::t, 0});
}
TEST_F(SumOrderOnGpu, GivesEqualBitsInF32) { expect_equal_bits({kF32, Op::n, Op::t, 0.5f}); }

}  // namespace
}  // namespace hotgemm
