// Kernels that start before the preceding kernels have ended. Each kernel waits by itself for the data that it reads,
// and for earlier readers of the memory that it writes.

#include "gpu/gpu_fixture.hpp"

#include <algorithm>
#include <functional>
#include <random>
#include <vector>

namespace hotgemm {
namespace {

// clang-format off
constexpr WgmmaConfig kConfigs[] = {
    {.block_m = 64,  .block_n = 64,  .consumers = 1, .one_tile = true, .stages = 3, .blocks_per_sm = 3},
    {.block_m = 64,  .block_n = 128, .split_n = true, .one_tile = true, .stages = 6, .cluster_m = 2},
    {.block_m = 128, .block_n = 128, .ping_pong = true, .stages = 5},
    {.block_m = 128, .block_n = 256, .stages = 4, .cluster_m = 2},
};
// clang-format on
static_assert(std::ranges::all_of(kConfigs, [](const WgmmaConfig& c) {
  return is_legal(c, GemmTraits{}, *nearest_arch_limits(90));
}));
constexpr std::int64_t kSize = 512;
constexpr std::size_t kProducts = 3;  // per chain
constexpr std::size_t kChains = 8;
constexpr LaunchConfig kProgrammatic{.raster_width = 8, .raster_along_n = false, .programmatic = true};

/// A matrix with one ±1 per column, so that products with it are exact however many follow each other.
struct SignedPermutation {
  std::vector<std::size_t> row_of;  ///< indexed by column
  std::vector<float> sign;

  SignedPermutation(std::size_t size, unsigned seed) : row_of(size), sign(size) {
    std::mt19937 random(seed);
    for (std::size_t i = 0; i < size; ++i) row_of[i] = i;
    std::shuffle(row_of.begin(), row_of.end(), random);
    for (float& s : sign) s = random() % 2 == 0 ? 1.0f : -1.0f;
  }
  float at(std::size_t row, std::size_t col) const { return row_of[col] == row ? sign[col] : 0.0f; }
};

/// Chains of products D[i] = D[i-1] · B[i], where D[-1] is alternately one of two matrices A. All chains share the
/// intermediate matrices, so that the first kernel of a chain writes what the second kernel of the previous chain
/// reads.
class Chains {
 public:
  Chains(const Driver& driver, CUstream stream) : driver_(driver), stream_(stream) {
    for (std::size_t i = 0; i < 2; ++i) {
      a_.push_back(make(driver));
      std::mt19937 random(static_cast<unsigned>(i));
      a_[i].fill([&](auto, auto) { return static_cast<float>(static_cast<int>(random() % 41) - 20); });
    }
    for (std::size_t i = 0; i < kProducts; ++i) {
      permutations_.emplace_back(static_cast<std::size_t>(kSize), static_cast<unsigned>(10 + i));
      b_.push_back(make(driver));
      b_[i].fill([&](std::size_t row, std::size_t col) { return permutations_[i].at(row, col); });
      between_.push_back(make(driver));
    }
    for (std::size_t i = 0; i < kChains; ++i) d_.push_back(make(driver));
  }

  /// Enqueues all launches of all chains, one after the other.
  void enqueue(const GemmKernel& kernel) const {
    for (std::size_t chain = 0; chain < kChains; ++chain) {
      const GuardedMatrix* left = &a_[chain % 2];
      for (std::size_t i = 0; i < kProducts; ++i) {
        const GuardedMatrix& result = i + 1 == kProducts ? d_[chain] : between_[i];
        const Operands operands{.a = left->device(),
                                .b = b_[i].device(),
                                .c = nullptr,
                                .d = result.device(),
                                .lda = kSize,
                                .ldb = kSize,
                                .ldc = kSize,
                                .ldd = kSize,
                                .alpha = 1,
                                .beta = 0};
        driver_.check(launch_gemm(driver_, kernel, kProgrammatic, kSize, kSize, kSize, operands, stream_),
                      "launch a GEMM of a chain");
        left = &result;
      }
    }
  }

  void upload() {
    for (std::vector<GuardedMatrix>* matrices : {&between_, &d_}) {
      for (GuardedMatrix& matrix : *matrices) matrix.fill_nan();
    }
    for (const std::vector<GuardedMatrix>* matrices : {&a_, &b_, &between_, &d_}) {
      for (const GuardedMatrix& matrix : *matrices) matrix.upload(stream_);
    }
  }

  void expect_right() const {
    for (std::size_t chain = 0; chain < kChains; ++chain) {
      const Bytes found = d_[chain].download(stream_);
      std::size_t wrong = 0;
      for (std::size_t row = 0; row < kSize; ++row) {
        for (std::size_t col = 0; col < kSize; ++col) {
          if (d_[chain].get(found, row, col) != right(chain, row, col)) ++wrong;
        }
      }
      EXPECT_EQ(wrong, 0U) << "elements of chain " << chain;
    }
  }

 private:
  static GuardedMatrix make(const Driver& driver) {
    return {driver, DType::f16, kSize, kSize, kSize, 0, GuardedMatrix::Filling::nan};
  }
  /// The right value: follows a column back to the column of A that it came from.
  float right(std::size_t chain, std::size_t row, std::size_t col) const {
    float sign = 1;
    for (std::size_t i = kProducts; i-- > 0;) {
      sign *= permutations_[i].sign[col];
      col = permutations_[i].row_of[col];
    }
    return sign * a_[chain % 2].get(row, col);
  }

  const Driver& driver_;
  CUstream stream_;
  std::vector<SignedPermutation> permutations_;
  std::vector<GuardedMatrix> a_, b_, between_, d_;
};

class Programmatic : public GpuTest {
 protected:
  void SetUp() override {
    GpuTest::SetUp();
    if (!IsSkipped() && gpu().arch() != "sm_90a") GTEST_SKIP() << "needs sm_90a, not " << gpu().arch();
  }

  /// Runs the chains of each config several times. `run` gets a function that enqueues them.
  void expect_chains(const std::function<void(const std::function<void()>& enqueue)>& run) {
    Chains chains(driver(), stream());
    for (const WgmmaConfig& config : kConfigs) {
      SCOPED_TRACE(to_string(KernelConfig(config)));
      const Gpu::Kernel kernel = gpu().kernel(config, GemmTraits{});
      for (int repetition = 0; repetition < (small_run() ? 1 : 5) && !HasFailure(); ++repetition) {
        chains.upload();
        run([&] { chains.enqueue(*kernel); });
        chains.expect_right();
      }
    }
  }
};

TEST_F(Programmatic, LaunchesThatDependOnEachOtherAreInOrder) {
  expect_chains([](const std::function<void()>& enqueue) { enqueue(); });
}

TEST_F(Programmatic, SoAreCapturedOnes) {
  expect_chains([&](const std::function<void()>& enqueue) {
    const OwnedGraph graph = OwnedGraph::capture(driver(), stream(), enqueue);
    graph.launch(stream());
    graph.launch(stream());
  });
}

}  // namespace
}  // namespace hotgemm
