// Runs the kernels that it is linked with and prints their errors: findings, wrong results, bank conflicts. The exit
// status is 1 if there are any. It is linked once with the unchanged templates of each family, and once with each
// mutant of the family.

#include "config/traits.hpp"
#include "emulate/batch_case.hpp"
#include "emulate/gemm_run.hpp"
#include "emulate/group_case.hpp"
#include "emulate/mutant_kernels.hpp"

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <variant>

namespace hotgemm::emulate {
namespace {

struct Size {
  std::int64_t m, n, k;
  int splits;  // for kernels that divide k: as many parts as k-tiles, fewer or more
};
// The sizes have edges in every dimension, several tiles and k-tiles for each config, whole tiles only, and many tiles
// with one k-tile.
constexpr Size kSizes[] = {{70, 91, 185, 3}, {33, 63, 40, 40}, {192, 192, 192, 2}, {256, 192, 24, 2}};
constexpr std::uint64_t kSeeds = 4;  // half of them with a warp that lags behind
constexpr std::uint64_t kSeedsOfUnchanged = 1;

/// A problem for which the kernel's traits are made.
GemmCase case_for(const GemmTraits& t, const Size& size) {
  return {.problem = workload_of(t, size.m, possible_n(t, size.n), size.k),
          .beta = t.reads_c ? 1.0f : 0.0f,
          .in_place = t.reads_c && size.m == 192,
          .residual_in_place = t.epilogue.residual && !t.reads_c,
          .packed = size.k == 40,  // packed operands are prefetched into L2
          .launch = {.splits = size.splits}};
}

/// Describes the first error of one run of a kernel for batches; empty if there is none. Its products differ in A or in
/// B, or in both.
std::string complaint_of_batch(const GemmKernel& kernel, const GemmCase& c, std::uint64_t seed) {
  constexpr std::size_t kProducts = 3;
  const Batch batch = make_batch(c, kProducts, seed % 3 == 1, seed % 3 == 2);
  const GemmRun run = run_gemm(kernel, batch.whole, batch.matrices, seed);
  if (!run.report.findings.empty()) return to_string(run.report.findings.front());
  for (std::size_t i = 0; i < kProducts; ++i) {
    const GemmReference reference(batch.cases[i], batch.products[i]);
    const std::string wrong = reference.first_inexact(product_of(run.d, batch.products[i].d, i));
    if (!wrong.empty()) return "wrong result of product " + std::to_string(i) + ": " + wrong;
    if (!c.problem.epilogue.aux) continue;
    const HostMatrix auxiliary = product_of(run.auxiliary, batch.products[i].auxiliary, i);
    if (!reference.first_inexact_auxiliary(auxiliary).empty()) return "wrong auxiliary output of a product";
  }
  return {};
}

/// The groups for a kernel that computes groups. One is empty, one fills tiles, others end within one, and some rows
/// are in none.
Groups groups_of(const GemmTraits& t, const GemmCase& c) {
  const auto m = static_cast<std::int32_t>(c.problem.m), k = static_cast<std::int32_t>(c.problem.k);
  if (t.masked) return make_masked(c, {m / 5, 0, m / 3 / 8 * 8, m + 9});
  if (t.along_k) {  // the last group begins behind a block of scales
    return make_k_groups(c, {0, k / 5, k / 5, k / 5 + k / 3 / 8 * 8, k / 5 * 4, k - 3});
  }
  return make_groups(c, {0, m / 5, m / 5, m / 5 + m / 3 / 8 * 8, m - 3});
}
std::string complaint_of_groups(const GemmKernel& kernel, const GemmCase& c, std::uint64_t seed) {
  const Groups groups = groups_of(kernel.traits, c);
  const GemmRun run = run_gemm(kernel, groups.whole, groups.matrices, seed);
  if (!run.report.findings.empty()) return to_string(run.report.findings.front());
  return first_wrong(groups, run);
}

/// Describes the first error of one run; empty if there is none.
std::string complaint(const GemmKernel& kernel, const GemmCase& c, std::uint64_t seed) {
  if (kernel.traits.grouped) return complaint_of_groups(kernel, c, seed);
  if (kernel.traits.batched) return complaint_of_batch(kernel, c, seed);
  const GemmMatrices matrices = make_matrices(c);
  const GemmRun run = run_gemm(kernel, c, matrices, seed);
  if (!run.report.findings.empty()) return to_string(run.report.findings.front());
  const GemmReference reference(c, matrices);
  if (const std::string wrong = reference.first_inexact(run.d); !wrong.empty()) return "wrong result: " + wrong;
  if (c.problem.epilogue.amax && static_cast<double>(run.amax) != reference.amax()) return "wrong amax";
  for (std::int64_t i = 0; i < run.bias_gradient.cols; ++i) {
    const double before = matrices.bias_gradient.get(DType::f32, 0, i);
    if (run.bias_gradient.get(DType::f32, 0, i) - before != reference.bias_gradient(i)) return "wrong bias gradient";
  }
  if (c.problem.epilogue.aux) {
    const std::string wrong = reference.first_inexact_auxiliary(run.auxiliary);
    if (!wrong.empty()) return "wrong auxiliary output: " + wrong;
  }
  for (const Instruction i : {Instruction::ldmatrix_x4, Instruction::ldmatrix_x4_trans}) {
    if (const std::uint64_t n = run.report.counters[i].conflicts; n != 0) {
      return std::to_string(n) + " bank conflicts of " + std::string(to_string(i));
    }
  }
  return {};
}

/// `size` with several k-tiles for the config.
Size with_k_tiles(Size size, const KernelConfig& config) {
  const auto* wgmma = std::get_if<WgmmaConfig>(&config);
  if (wgmma != nullptr && wgmma->block_k >= 256) size.k *= 3;
  return size;
}

int run_all(std::uint64_t seeds) {
  // All kernels with one seed before the next seed: most bugs show with each seed, but only in some kernels.
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    for (const GemmKernel& kernel : mutant_kernels()) {
      for (const Size& size : kSizes) {
        const std::string text = complaint(kernel, case_for(kernel.traits, with_k_tiles(size, kernel.config)), seed);
        if (text.empty()) continue;
        std::printf("%s: %s\n", hotgemm::to_string(kernel.config).c_str(), text.c_str());
        return 1;
      }
    }
  }
  return 0;
}

}  // namespace
}  // namespace hotgemm::emulate

// With --unchanged no error is expected, and one seed is enough: the tests of kernels run with others.
int main(int argc, char** argv) {
  using namespace hotgemm::emulate;
  try {
    return run_all(argc > 1 && std::string_view(argv[1]) == "--unchanged" ? kSeedsOfUnchanged : kSeeds);
  } catch (const std::exception& error) {
    std::printf("exception: %s\n", error.what());
    return 2;
  }
}
