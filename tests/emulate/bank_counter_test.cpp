#include "emulate/bank_counter.hpp"

#include "emulate/device_fixture.hpp"

#include "config/traits.hpp"
#include "emulate/gemm_run.hpp"

#include <algorithm>
#include <array>
#include <numeric>

namespace hotgemm::emulate {
namespace {

TEST(Wavefronts, AreOneWithoutConflicts) {
  std::array<u32, 8> chunks{};
  for (u32 i = 0; i < 8; ++i) chunks[i] = (7 - i) * 16;
  EXPECT_EQ(wavefronts(chunks, 16), 1);
  EXPECT_EQ(wavefronts(std::array<u32, 8>{}, 16), 1) << "one address for all";
  for (u32 i = 0; i < 8; ++i) chunks[i] = i * 128;
  EXPECT_EQ(wavefronts(chunks, 16), 8);
  for (u32 i = 0; i < 8; ++i) chunks[i] = i * 64;
  EXPECT_EQ(wavefronts(chunks, 16), 4);
  for (u32 i = 0; i < 8; ++i) chunks[i] = i * 144;
  EXPECT_EQ(wavefronts(chunks, 16), 1) << "a chunk of padding";
  std::array<u32, 32> words{};
  for (u32 i = 0; i < 32; ++i) words[i] = i * 4 + (i == 9 ? 128 : 0);
  EXPECT_EQ(wavefronts(words, 4), 1);
  words[9] += 4;
  EXPECT_EQ(wavefronts(words, 4), 2);
}

class Banks : public EmulatedDevice {
 protected:
  /// One ldmatrix, one stmatrix, one cp.async, and stores and loads of 16 bytes, whose rows are `stride` bytes apart.
  Counters counters(u32 stride) {
    const u64 a = matrix("A", 1, 64).address();
    const LaunchReport report = run(
        [=] {
          const u32 row = kShared + static_cast<u32>(ptx::thread_index()) * stride;
          ptx::cp_async<16>(row, a, 16);
          ptx::cp_async_commit_group();
          ptx::cp_async_wait_group<0>();
          ptx::bar_sync();
          u32 r[4];
          ptx::ldmatrix_x4(r, row);
          ptx::bar_sync();
          ptx::stmatrix_x4(row, r);
          ptx::bar_sync();
          ptx::st_shared_v4_b32(row, ptx::ld_shared_v4_b32(row));
        },
        {.threads = 32, .shared_bytes = 32 * 128, .counts_accesses = true});
    EXPECT_TRUE(report.findings.empty()) << text(report.findings);
    return report.counters;
  }
};

TEST_F(Banks, AreCountedPerPhase) {
  const std::pair<u32, u64> strides[] = {{16, 0}, {32, 4}, {64, 12}, {128, 28}, {48, 0}, {80, 0}};
  for (const auto& [stride, conflicts] : strides) {
    const Counters found = counters(stride);
    for (const Instruction i : {Instruction::ldmatrix_x4, Instruction::stmatrix_x4, Instruction::cp_async_cg_16,
                                Instruction::ld_shared_v4_b32, Instruction::st_shared_v4_b32}) {
      EXPECT_EQ(found[i].phases, 4u) << to_string(i) << " " << stride;
      EXPECT_EQ(found[i].conflicts, conflicts) << to_string(i) << " " << stride;
    }
  }
}

TEST_F(Banks, OfUnevenGroupsAreNotCounted) {
  const u64 a = matrix("A", 1, 64).address();
  const LaunchReport report = run(
      [=] {
        if (ptx::thread_index() != 3) ptx::cp_async<16>(kShared + static_cast<u32>(ptx::thread_index()) * 16, a, 16);
        ptx::cp_async_commit_group();
        ptx::cp_async_wait_group<0>();
      },
      {.threads = 32});
  EXPECT_EQ(report.counters.uneven_copy_groups, 1u);
  EXPECT_EQ(report.counters[Instruction::cp_async_cg_16].phases, 0u);
}

TEST_F(Banks, OfAccessesThatLanesDoNotShareAreNotCounted) {
  const LaunchReport report = run(
      [=] {
        const u32 place = kShared + static_cast<u32>(ptx::thread_index()) * 4;
        if (ptx::thread_index() != 3) ptx::st_shared_b32(place, 1);
        ptx::bar_sync();
        ptx::st_shared_b32(place, 2);
      },
      {.threads = 32, .counts_accesses = true});
  EXPECT_EQ(report.counters.uneven_accesses, 1u);
  EXPECT_EQ(report.counters[Instruction::st_shared_b32].phases, 1u) << "behind the barrier";
}

/// In family mma an ldmatrix has bank conflicts only if rows are neither padded nor swizzled. A 16-byte copy to
/// swizzled rows has none. A copy to padded rows has some: the padding shifts the second row of a phase by 16 bytes.
TEST(BankConflicts, OfFamilyMmaAreThoseOfCopiesToPaddedRows) {
  std::size_t swizzled = 0, padded = 0;
  for (const GemmKernel& kernel : gemm_kernels()) {
    if (family_of(kernel.config).name != "mma") continue;
    const GemmTraits& t = kernel.traits;
    const GemmCase c{.problem = {{.m = 150, .n = 150, .k = 100, .op_a = t.op_a, .op_b = t.op_b, .types = types_of(t)},
                                 {.align_a = 16, .align_b = 16, .align_d = 16}}};
    if (!computes(t, traits_of(c.problem))) continue;
    SCOPED_TRACE(hotgemm::to_string(kernel.config) + " " + hotgemm::to_string(t));
    const MmaConfig& config = std::get<MmaConfig>(kernel.config);
    if (!config.swizzle && !config.padded) continue;
    const Counters found = run_gemm(kernel, c, make_matrices(c), 1).report.counters;
    EXPECT_EQ(found[Instruction::ldmatrix_x4].conflicts + found[Instruction::ldmatrix_x4_trans].conflicts, 0u);
    EXPECT_EQ(found[Instruction::ldmatrix_x2].conflicts + found[Instruction::ldmatrix_x2_trans].conflicts, 0u);
    // Other elements than those of 16 bits are read by other instructions where k is not contiguous.
    if (size_bytes(t.element) == 2 || (t.a_is_k_major() && t.b_is_k_major())) {
      EXPECT_GT(found[Instruction::ldmatrix_x4].phases + found[Instruction::ldmatrix_x4_trans].phases, 0u);
      EXPECT_EQ(found[Instruction::ldmatrix_x2].phases + found[Instruction::ldmatrix_x2_trans].phases > 0,
                config.b_matrices == 2);
    }
    if (t.vec_a != 8 || t.vec_b != 8 || !config.async_copy) continue;
    EXPECT_GT(found[Instruction::cp_async_cg_16].phases, 0u);
    if (config.swizzle) {
      EXPECT_EQ(found[Instruction::cp_async_cg_16].conflicts, 0u);
      ++swizzled;
    } else {
      EXPECT_GT(found[Instruction::cp_async_cg_16].conflicts, 0u);
      ++padded;
    }
  }
  EXPECT_GT(swizzled, 15u);
  EXPECT_GT(padded, 0u);
}

/// In family wmma the loads of a fragment have no bank conflicts if rows are padded, and some if they are not.
TEST(BankConflicts, OfFamilyWmmaAreThoseOfLoadsOfUnpaddedRows) {
  std::size_t padded = 0, plain = 0;
  for (const GemmKernel& kernel : gemm_kernels()) {
    if (family_of(kernel.config).name != "wmma") continue;
    const GemmTraits& t = kernel.traits;
    const GemmCase c{.problem = {{.m = 70, .n = 70, .k = 100, .op_a = t.op_a, .op_b = t.op_b, .types = types_of(t)},
                                 {.align_a = 16, .align_b = 16, .align_d = 16}}};
    if (!computes(t, traits_of(c.problem))) continue;
    SCOPED_TRACE(hotgemm::to_string(kernel.config) + " " + hotgemm::to_string(t));
    const Counters found = run_gemm(kernel, c, make_matrices(c), 1).report.counters;
    const auto& a = found[Instruction::wmma_load_a];
    const auto& b = found[Instruction::wmma_load_b];
    EXPECT_GT(std::min(a.phases, b.phases), 0u);
    if (std::get<WmmaConfig>(kernel.config).padded) {
      EXPECT_EQ(a.conflicts + b.conflicts, 0u);
      ++padded;
    } else {
      EXPECT_GT(a.conflicts + b.conflicts, 0u);
      ++plain;
    }
  }
  EXPECT_GT(padded, 10u);
  EXPECT_GT(plain, 4u);
}

/// Lanes of family wgmma load rows of words without bank conflicts, whatever the swizzle of the tile is.
TEST(BankConflicts, OfFamilyWgmmaAreNoneInLoadedRows) {
  std::size_t of_bytes = 0, of_words = 0;
  for (const GemmKernel& kernel : gemm_kernels()) {
    const auto* const config = std::get_if<WgmmaConfig>(&kernel.config);
    const GemmTraits& t = kernel.traits;
    if (config == nullptr || !config->loads_rows(t) || config->split_k || t.reads_c) continue;
    GemmCase c{.problem = {{.m = 150, .n = 150, .k = 100, .op_a = t.op_a, .op_b = t.op_b, .types = types_of(t)},
                           {.align_a = 16, .align_b = 16, .align_d = 16}}};
    if (!computes(t, traits_of(c.problem))) continue;
    SCOPED_TRACE(hotgemm::to_string(kernel.config) + " " + hotgemm::to_string(t));
    const bool are_bytes = size_bytes(t.element) == 1;
    c.counts_accesses = !are_bytes;  // ldmatrix is counted anyway
    const Counters found = run_gemm(kernel, c, make_matrices(c), 1).report.counters;
    const auto& loads = found[are_bytes ? Instruction::ldmatrix_x4_trans : Instruction::ld_shared_b32];
    EXPECT_GT(loads.phases, 0u);
    EXPECT_EQ(loads.conflicts, 0u);
    ++(are_bytes ? of_bytes : of_words);
  }
  EXPECT_GT(of_bytes, 4u);
  EXPECT_GT(of_words, 1u);
}

}  // namespace
}  // namespace hotgemm::emulate
