// wgmma.mma_async: its products, element by element, and the fences and waits that it needs.

#include "emulate/device_fixture.hpp"

#include "emulate/emulated_wgmma.hpp"
#include "emulate/number.hpp"
#include "emulate/tensor_map.hpp"
#include "shared/wgmma_descriptor.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>

namespace hotgemm::emulate {
namespace {

using ptx::bar_sync;
using ptx::thread_index;

/// B as wgmma reads it: rows of k.
int b_row_value(int col, int k) { return b_value(k, col); }
int product(int row, int col, int depth) {
  int sum = 0;
  for (int k = 0; k < depth; ++k) sum += a_value(row, k) * b_value(k, col);
  return sum;
}
u16 bits_of(int value, bool is_bf16) { return is_bf16 ? narrow_bf16(value) : narrow_f16(value); }

/// Row and column of element i of a thread's accumulators, from the PTX ISA's figure for m64nNk16.
int row_of(int thread, int i) { return thread / 32 * 16 + thread % 32 / 4 + (i & 2 ? 8 : 0); }
int col_of(int thread, int i) { return i / 4 * 8 + thread % 4 * 2 + (i & 1); }

template <class Register, std::size_t kRegisters>
void expect_product(const Register (&d)[kRegisters], int factor, int depth) {
  constexpr bool kIsF32 = std::is_same_v<Register, float>;
  for (int i = 0; i < static_cast<int>(kRegisters) * (kIsF32 ? 1 : 2); ++i) {
    const int right = factor * product(row_of(thread_index(), i), col_of(thread_index(), i), depth);
    if constexpr (kIsF32) {
      ASSERT_EQ(d[i], static_cast<float>(right)) << "thread " << thread_index() << " d" << i;
    } else {
      ASSERT_EQ(widen_f16(static_cast<u16>(d[i / 2] >> i % 2 * 16)), static_cast<float>(right)) << "d" << i;
    }
  }
}

class Wgmma : public EmulatedDevice {
 protected:
  /// The operand as a matrix in global memory, and the map of its slabs.
  template <class Value>
  TensorMap map(const WgmmaTile& tile, const Value& value, bool is_bf16) {
    const int rows = tile.rows(), cols = tile.k_major ? tile.block_k : tile.outer;
    Allocation& matrix =
        device_.memory().add({.name = "operand", .rows = rows, .row_bytes = cols * 2, .pitch_bytes = cols * 2});
    for (int row = 0; row < rows; ++row) {
      for (int col = 0; col < cols; ++col) {
        const u16 bits = bits_of(tile.k_major ? value(row, col) : value(col, row), is_bf16);
        matrix.store(row, col * 2, &bits, 2);
      }
    }
    const auto swizzle = tile.swizzle_bytes == 128  ? TensorSwizzle::bytes_128
                         : tile.swizzle_bytes == 64 ? TensorSwizzle::bytes_64
                                                    : TensorSwizzle::bytes_32;
    return encode({.base = matrix.address(),
                   .element = DType::f16,
                   .swizzle = swizzle,
                   .rank = 2,
                   .sizes = {static_cast<std::uint64_t>(cols), static_cast<std::uint64_t>(rows)},
                   .strides = {2, static_cast<std::uint64_t>(cols) * 2},
                   .box = {static_cast<std::uint32_t>(tile.slab_elements()), static_cast<std::uint32_t>(rows)}});
  }

  static void copy(const WgmmaTile& tile, u32 shared, const TensorMap& from, u32 barrier) {
    for (int slab = 0; slab < tile.slabs(); ++slab) {
      ptx::cp_async_bulk_tensor_2d_load(shared + static_cast<u32>(slab * tile.slab_bytes()), from,
                                        slab * tile.slab_elements(), 0, barrier);
    }
  }

  template <int kN, DType kElement, DType kAccumulator, bool kAIsKMajor, bool kBIsKMajor>
  void expect_exact(int swizzle_bytes) {
    SCOPED_TRACE(std::to_string(kN) + (kAIsKMajor ? " n" : " t") + (kBIsKMajor ? "t " : "n ") +
                 std::to_string(swizzle_bytes));
    using Multiply = EmulatedWgmma<kN, kElement, kAccumulator, kAIsKMajor, kBIsKMajor>;
    constexpr int kElementBytes = size_bytes(kElement);
    const WgmmaTile a{64, 64, kAIsKMajor, swizzle_bytes, kElementBytes};
    const WgmmaTile b{kN, 64, kBIsKMajor, swizzle_bytes, kElementBytes};
    ASSERT_TRUE(a.is_sound() && b.is_sound());
    const TensorMap map_a = map(a, a_value, kElement == DType::bf16),
                    map_b = map(b, b_row_value, kElement == DType::bf16);
    const u32 shared_b = kShared + static_cast<u32>(a.bytes()), barrier = shared_b + static_cast<u32>(b.bytes());
    const LaunchReport report = run(
        [&] {
          if (thread_index() == 0) {
            ptx::mbarrier_init(barrier, 1);
            ptx::fence_mbarrier_init();
            ptx::mbarrier_arrive_expect_tx(barrier, static_cast<u32>(a.bytes() + b.bytes()));
            copy(a, kShared, map_a, barrier);
            copy(b, shared_b, map_b, barrier);
          }
          bar_sync();
          await(barrier, 0);
          typename Multiply::Register d[Multiply::kShape.registers()];
          ptx::wgmma_fence();
          for (int step = 0; step < 4; ++step) {
            Multiply::mma_async(d, a.descriptor(kShared) + descriptor_step(a.offset_bytes(0, step)),
                                b.descriptor(shared_b) + descriptor_step(b.offset_bytes(0, step)), step > 0);
          }
          ptx::wgmma_commit_group();
          ptx::wgmma_wait_group<0>();
          expect_product(d, 1, 64);
        },
        {.threads = 128, .shared_bytes = a.bytes() + b.bytes() + 8});
    EXPECT_TRUE(report.findings.empty()) << text(report.findings);
    EXPECT_EQ(report.counters[Instruction::wgmma_mma_async].executions, 16u);
  }
};

TEST_F(Wgmma, MultipliesWhatCopiesHaveBroughtInEveryLayoutAndSwizzle) {
  for (const int swizzle_bytes : {128, 64, 32}) {
    expect_exact<64, DType::f16, DType::f32, true, true>(swizzle_bytes);
    expect_exact<64, DType::f16, DType::f32, true, false>(swizzle_bytes);
    expect_exact<64, DType::f16, DType::f32, false, true>(swizzle_bytes);
    expect_exact<128, DType::f16, DType::f32, false, false>(swizzle_bytes);
  }
}

TEST_F(Wgmma, MultipliesAtEveryKindOfWidthAndInEveryType) {
  expect_exact<8, DType::f16, DType::f32, true, true>(128);
  expect_exact<104, DType::f16, DType::f32, true, true>(128);
  expect_exact<256, DType::f16, DType::f32, true, false>(128);
  expect_exact<48, DType::f16, DType::f32, true, false>(32);
  expect_exact<64, DType::bf16, DType::f32, true, false>(128);
  expect_exact<64, DType::f16, DType::f16, false, false>(128);
  expect_exact<24, DType::f16, DType::f16, true, true>(64);
}

// ---- operands that threads have written, without swizzle ----

constexpr int kN = 16;
constexpr u32 kA = kShared, kB = kShared + 64 * 32, kEnd = kB + kN * 32;

/// The place of an element in blocks of eight contiguous rows of 16 bytes. The blocks are 128 bytes apart along m (or
/// n), and `along_k` bytes apart along k.
u32 place(int outer, int k, bool is_k_major, u32 along_k) {
  const int block_row = is_k_major ? outer % 8 : k % 8, in_row = is_k_major ? k % 8 : outer % 8;
  return static_cast<u32>(outer / 8 * 128 + block_row * 16 + in_row * 2) + static_cast<u32>(k / 8) * along_k;
}
u64 descriptor(u32 address, u32 leading, u32 stride) {
  return u64{address >> 4} | u64{leading >> 4} << 16 | u64{stride >> 4} << 32;
}
u64 descriptor_a() { return descriptor(kA, 64 * 16, 128); }
u64 descriptor_b() { return descriptor(kB, kN * 16, 128); }

/// Writes the first `rows` rows of the operand.
template <class Value>
void write_operand(u32 shared, int outers, bool is_k_major, const Value& value, int rows = 64) {
  for (int at = thread_index(); at < std::min(outers, rows) * 16; at += 128) {
    const int outer = at / 16, k = at % 16;
    ptx::st_shared_b16(shared + place(outer, k, is_k_major, static_cast<u32>(outers) * 16),
                       bits_of(value(outer, k), false));
  }
}
void write_operands(bool a_is_k_major = true, bool b_is_k_major = true, bool fences = true) {
  write_operand(kA, 64, a_is_k_major, a_value);
  write_operand(kB, kN, b_is_k_major, b_row_value);
  if (fences) ptx::fence_proxy_async();
  bar_sync();
}

template <bool kAIsKMajor = true, bool kBIsKMajor = true>
using Small = EmulatedWgmma<kN, DType::f16, DType::f32, kAIsKMajor, kBIsKMajor>;

class WgmmaHazards : public Wgmma {
 protected:
  static constexpr Shape kBlock{.threads = 128, .shared_bytes = static_cast<int>(kEnd - kShared)};

  template <bool kAIsKMajor, bool kBIsKMajor>
  void expect_product_without_swizzle() {
    expect_good(
        [] {
          write_operands(kAIsKMajor, kBIsKMajor);
          float d[kN / 2];
          ptx::wgmma_fence();
          Small<kAIsKMajor, kBIsKMajor>::mma_async(d, descriptor_a(), descriptor_b(), false);
          ptx::wgmma_commit_group();
          ptx::wgmma_wait_group<0>();
          expect_product(d, 1, 16);
        },
        kBlock);
  }
};

TEST_F(WgmmaHazards, OperandsNeedNoSwizzle) {
  expect_product_without_swizzle<true, true>();
  expect_product_without_swizzle<true, false>();
  expect_product_without_swizzle<false, true>();
  expect_product_without_swizzle<false, false>();
}

/// Copies leave out rows beyond the matrix, so the elements of these rows may be unwritten.
TEST_F(WgmmaHazards, WhatNobodyWroteIsNan) {
  constexpr int kRows = 37;
  expect_good(
      [] {
        write_operand(kA, 64, true, a_value, kRows);
        write_operand(kB, kN, true, b_row_value);
        ptx::fence_proxy_async();
        bar_sync();
        float d[kN / 2];
        ptx::wgmma_fence();
        Small<>::mma_async(d, descriptor_a(), descriptor_b(), false);
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<0>();
        for (int i = 0; i < kN / 2; ++i) {
          const int row = row_of(thread_index(), i), col = col_of(thread_index(), i);
          if (row < kRows) {
            EXPECT_EQ(d[i], static_cast<float>(product(row, col, 16)));
          } else {
            EXPECT_TRUE(std::isnan(d[i])) << row;
          }
        }
      },
      kBlock);
}

TEST_F(WgmmaHazards, AccumulatorsArePoisonUntilTheWaitForTheirGroup) {
  expect_good(
      [] {
        write_operands();
        float first[kN / 2], second[kN / 2];
        ptx::wgmma_fence();
        Small<>::mma_async(first, descriptor_a(), descriptor_b(), false);
        ptx::wgmma_commit_group();
        Small<>::mma_async(second, descriptor_a(), descriptor_b(), false);
        Small<>::mma_async(second, descriptor_a(), descriptor_b(), true);
        ptx::wgmma_commit_group();
        EXPECT_TRUE(std::isnan(first[0]) && std::isnan(second[3]));
        ptx::wgmma_wait_group<1>();
        expect_product(first, 1, 16);
        EXPECT_TRUE(std::isnan(second[3]));
        ptx::wgmma_wait_group<0>();
        expect_product(second, 2, 16);
      },
      kBlock);
}

TEST_F(WgmmaHazards, NoWaitCoversWhatIsInNoGroup) {
  expect_good(
      [] {
        write_operands();
        float d[kN / 2];
        ptx::wgmma_fence();
        Small<>::mma_async(d, descriptor_a(), descriptor_b(), false);
        ptx::wgmma_wait_group<0>();
        EXPECT_TRUE(std::isnan(d[0]));
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<0>();
        expect_product(d, 1, 16);
      },
      kBlock);
}

TEST_F(WgmmaHazards, SumsGoOnFromRegisters) {
  expect_good(
      [] {
        write_operands();
        float d[kN / 2];
        for (int i = 0; i < kN / 2; ++i) {
          d[i] = static_cast<float>(2 * product(row_of(thread_index(), i), col_of(thread_index(), i), 16));
        }
        for (int pass = 0; pass < 2; ++pass) {
          ptx::wgmma_fence();
          Small<>::mma_async(d, descriptor_a(), descriptor_b(), true);
          ptx::wgmma_commit_group();
          ptx::wgmma_wait_group<0>();
          expect_product(d, 3 + pass, 16);
        }
      },
      kBlock);
}

TEST_F(WgmmaHazards, RegistersAreFencedBeforeTheFirstProduct) {
  const auto kernel = [](bool first, bool second) {
    return [=] {
      write_operands();
      float d[kN / 2];
      for (const bool fences : {first, second}) {
        if (fences) ptx::wgmma_fence();
        Small<>::mma_async(d, descriptor_a(), descriptor_b(), false);
        Small<>::mma_async(d, descriptor_a(), descriptor_b(), true);  // in its turn
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<0>();
      }
    };
  };
  expect_good(kernel(true, true), kBlock);
  expect_found(Hazard::conflict, Instruction::wgmma_mma_async, kernel(false, true), kBlock);
  expect_found(Hazard::conflict, Instruction::wgmma_mma_async, kernel(true, false), kBlock);
}

TEST_F(WgmmaHazards, RegistersAreNotWrittenInFlight) {
  expect_found(
      Hazard::in_flight, Instruction::wgmma_wait_group,
      [] {
        write_operands();
        float d[kN / 2];
        ptx::wgmma_fence();
        Small<>::mma_async(d, descriptor_a(), descriptor_b(), false);
        ptx::wgmma_commit_group();
        if (thread_index() == 70) d[3] = 0;
        ptx::wgmma_wait_group<0>();
      },
      kBlock);
}

enum class Write { behind_wait, before_wait };

TEST_F(WgmmaHazards, OperandsAreReadUntilTheWait) {
  const auto kernel = [](Write write) {
    return [=] {
      write_operands();
      float d[kN / 2];
      ptx::wgmma_fence();
      Small<>::mma_async(d, descriptor_a(), descriptor_b(), false);
      ptx::wgmma_commit_group();
      if (write == Write::before_wait) ptx::st_shared_b16(kB + 2 * static_cast<u32>(thread_index()), 0);
      ptx::wgmma_wait_group<0>();
      if (write == Write::behind_wait) ptx::st_shared_b16(kB + 2 * static_cast<u32>(thread_index()), 0);
    };
  };
  expect_good(kernel(Write::behind_wait), kBlock);
  expect_found(Hazard::conflict, Instruction::st_shared_b16, kernel(Write::before_wait), kBlock);
  // A fifth warp writes after a barrier with a thread of the warpgroup, which has waited for the product or has not.
  const auto other = [](bool waits) {
    return [=] {
      if (thread_index() < 128) {
        for (int at = thread_index(); at < (64 + kN) * 16; at += 128)
          ptx::st_shared_b16(kA + static_cast<u32>(at) * 2, 0);
        ptx::fence_proxy_async();
        ptx::bar_sync(1, 128);
        float d[kN / 2];
        ptx::wgmma_fence();
        Small<>::mma_async(d, descriptor_a(), descriptor_b(), false);
        ptx::wgmma_commit_group();
        if (waits) ptx::wgmma_wait_group<0>();
        ptx::bar_arrive(2, 160);
        ptx::wgmma_wait_group<0>();
      } else {
        ptx::bar_sync(2, 160);
        ptx::st_shared_b16(kB + 2 * static_cast<u32>(thread_index() - 128), 0);
      }
    };
  };
  Shape five_warps = kBlock;
  five_warps.threads = 160;
  expect_good(other(true), five_warps);
  expect_found(Hazard::conflict, Instruction::st_shared_b16, other(false), five_warps);
}

TEST_F(WgmmaHazards, OperandsThatThreadsWriteNeedAFence) {
  const auto kernel = [](bool fences) {
    return [=] {
      write_operands(true, true, fences);
      float d[kN / 2];
      ptx::wgmma_fence();
      Small<>::mma_async(d, descriptor_a(), descriptor_b(), false);
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<0>();
    };
  };
  expect_good(kernel(true), kBlock);
  const Finding f = expect_found(Hazard::conflict, Instruction::wgmma_mma_async, kernel(false), kBlock);
  EXPECT_NE(f.detail.find("no fence.proxy.async"), std::string::npos) << f.detail;
}

TEST_F(WgmmaHazards, EveryThreadWaitsForItsOperands) {
  // Threads of three warps continue without the barrier.
  expect_bad(
      [] {
        for (int at = thread_index(); at < (64 + kN) * 16; at += 128)
          ptx::st_shared_b16(kA + static_cast<u32>(at) * 2, 0);
        ptx::fence_proxy_async();
        thread_index() < 32 ? ptx::bar_sync(1, 128) : ptx::bar_arrive(1, 128);
        float d[kN / 2];
        ptx::wgmma_fence();
        Small<>::mma_async(d, descriptor_a(), descriptor_b(), false);
        ptx::wgmma_commit_group();
        ptx::wgmma_wait_group<0>();
      },
      kBlock);
}

TEST_F(WgmmaHazards, AWarpgroupDoesTheSame) {
  constexpr auto kMma = Instruction::wgmma_mma_async;
  const auto multiply = [](u64 a, u64 b) {
    float d[kN / 2];
    ptx::wgmma_fence();
    Small<>::mma_async(d, a, b, false);
    ptx::wgmma_commit_group();
    ptx::wgmma_wait_group<0>();
  };
  expect_found(
      Hazard::stuck, kMma,
      [=] {
        write_operands();
        if (thread_index() < 96) multiply(descriptor_a(), descriptor_b());
      },
      kBlock);
  expect_found(
      Hazard::bad_operand, kMma,
      [=] {
        write_operands();
        multiply(descriptor_a(), thread_index() == 77 ? descriptor_a() : descriptor_b());
      },
      kBlock);
  expect_found(Hazard::bad_operand, kMma, [=] { multiply(descriptor_a(), descriptor_b()); },
               {.threads = 96, .shared_bytes = 4096});
  expect_found(
      Hazard::out_of_bounds, kMma,
      [=] {
        write_operands();
        multiply(descriptor_a(), descriptor(kB, kN * 16, 256));
      },
      kBlock);
  expect_found(
      Hazard::stuck, Instruction::wgmma_wait_group,
      [] {
        if (thread_index() != 5) ptx::wgmma_wait_group<0>();
      },
      kBlock);
}

TEST_F(WgmmaHazards, RegistersMoveInEights) {
  expect_good([] { thread_index() < 128 ? ptx::setmaxnreg_dec<24>() : ptx::setmaxnreg_inc<240>(); }, {.threads = 256});
  expect_found(
      Hazard::bad_operand, Instruction::setmaxnreg, [] { ptx::setmaxnreg_dec<20>(); }, kBlock);
  expect_found(
      Hazard::bad_operand, Instruction::setmaxnreg, [] { ptx::setmaxnreg_inc<260>(); }, kBlock);
}

}  // namespace
}  // namespace hotgemm::emulate
