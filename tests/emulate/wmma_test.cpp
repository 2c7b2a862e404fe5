// wmma.*: every shape, order and type, and the errors that the twins must find.

#include "emulate/device_fixture.hpp"

#include "emulate/number.hpp"

#include <string>

namespace hotgemm::emulate {
namespace {

using ptx::thread_index;

class Wmma : public EmulatedDevice {
 protected:
  static constexpr Shape kWarp{.threads = 32, .shared_bytes = 8192};
};

constexpr u32 kSharedA = kShared, kSharedB = kShared + 2048, kSharedD = kShared + 4096;

int product(int row, int col) {
  int sum = 0;
  for (int k = 0; k < kWmmaK; ++k) sum += a_value(row, k) * b_value(k, col);
  return sum;
}

/// Writes `count` lines of `length` elements, padded by 16 bytes; returns the stride in elements. value(line, place).
template <DType kElement, class Value>
int store_lines(u32 shared, int count, int length, const Value& value) {
  const int stride = length + 8;
  for (int i = thread_index(); i < count * length; i += 32) {
    const double v = value(i / length, i % length);
    ptx::st_shared_b16(shared + static_cast<u32>(i / length * stride + i % length) * 2,
                       kElement == DType::f16 ? narrow_f16(v) : narrow_bf16(v));
  }
  return stride;
}

template <int kM, DType kElement, bool kRow>
int store_a() {
  if (kRow) return store_lines<kElement>(kSharedA, kM, kWmmaK, a_value);
  return store_lines<kElement>(kSharedA, kWmmaK, kM, [](int k, int row) { return a_value(row, k); });
}
template <int kM, DType kElement, bool kRow>
int store_b() {
  constexpr int kN = kWmmaMn / kM;
  if (kRow) return store_lines<kElement>(kSharedB, kWmmaK, kN, b_value);
  return store_lines<kElement>(kSharedB, kN, kWmmaK, [](int col, int k) { return b_value(k, col); });
}

struct F32Sums {
  float d[8] = {1, 1, 1, 1, 1, 1, 1, 1};
  static constexpr int kBytes = 4;
  static double load(u32 shared) { return ptx::ld_shared_f32(shared); }
};
struct F16Sums {
  u32 d[4] = {0x3c003c00u, 0x3c003c00u, 0x3c003c00u, 0x3c003c00u};
  static constexpr int kBytes = 2;
  static double load(u32 shared) { return widen_f16(ptx::ld_shared_b16(shared)); }
};

/// Computes d = 1 + a * b in a warp, with operands from shared memory and the result stored there. Returns the number
/// of wrong elements.
template <int kM, DType kElement, bool kRowA, bool kRowB, class Sums, bool kMultiplyRowA = kRowA>
int wrong_elements() {
  constexpr int kN = kWmmaMn / kM;
  const int stride_a = store_a<kM, kElement, kRowA>(), stride_b = store_b<kM, kElement, kRowB>();
  ptx::bar_warp_sync(~0u);
  u32 a[wmma_operand_registers(kElement, kM)], b[wmma_operand_registers(kElement, kN)];
  ptx::wmma_load_a<kM, kElement, kRowA>(a, kSharedA, stride_a);
  ptx::wmma_load_b<kM, kElement, kRowB>(b, kSharedB, stride_b);
  Sums sums;
  ptx::wmma_mma<kM, kElement, kMultiplyRowA, kRowB>(sums.d, a, b);
  const int stride = kN + 32 / Sums::kBytes;
  ptx::wmma_store_d<kM>(kSharedD, sums.d, stride);
  ptx::bar_warp_sync(~0u);
  int wrong = 0;
  for (int i = 0; i < kWmmaMn; ++i) {
    const int row = i / kN, col = i % kN;
    wrong +=
        Sums::load(kSharedD + static_cast<u32>((row * stride + col) * Sums::kBytes)) != 1 + product(row, col) ? 1 : 0;
  }
  ptx::bar_warp_sync(~0u);
  return wrong;
}

template <int kM, DType kElement, class Sums>
void expect_products() {
  EXPECT_EQ((wrong_elements<kM, kElement, true, true, Sums>()), 0) << kM;
  EXPECT_EQ((wrong_elements<kM, kElement, true, false, Sums>()), 0) << kM;
  EXPECT_EQ((wrong_elements<kM, kElement, false, true, Sums>()), 0) << kM;
  EXPECT_EQ((wrong_elements<kM, kElement, false, false, Sums>()), 0) << kM;
}

template <DType kElement, class Sums>
void expect_products_of_all_shapes() {
  expect_products<16, kElement, Sums>();
  expect_products<32, kElement, Sums>();
  expect_products<8, kElement, Sums>();
}

TEST_F(Wmma, MultipliesEveryShapeOrderAndType) {
  const LaunchReport report = run(
      [] {
        expect_products_of_all_shapes<DType::f16, F32Sums>();
        expect_products_of_all_shapes<DType::bf16, F32Sums>();
        expect_products_of_all_shapes<DType::f16, F16Sums>();
      },
      kWarp);
  EXPECT_TRUE(report.findings.empty()) << text(report.findings);
  EXPECT_EQ(report.counters[Instruction::wmma_load_a].executions, 36u);
  EXPECT_EQ(report.counters[Instruction::wmma_load_b].executions, 36u);
  EXPECT_EQ(report.counters[Instruction::wmma_mma_f32_f16].executions, 12u);
  EXPECT_EQ(report.counters[Instruction::wmma_mma_f32_bf16].executions, 12u);
  EXPECT_EQ(report.counters[Instruction::wmma_mma_f16_f16].executions, 12u);
  EXPECT_EQ(report.counters[Instruction::wmma_store_d].executions, 36u);
}

TEST_F(Wmma, AFragmentOfRowsIsNoneOfColumns) {
  run([] { EXPECT_GT((wrong_elements<16, DType::f16, true, true, F32Sums, false>()), 100); }, kWarp);
  run([] { EXPECT_GT((wrong_elements<32, DType::bf16, false, true, F32Sums, true>()), 100); }, kWarp);
}

TEST_F(Wmma, RoundsOnce) {
  run(
      [] {
        // 2048 and three products of 0.5; added one by one, none of them would change it.
        store_lines<DType::f16>(kSharedA, 16, 16, [](int, int k) { return k < 3 ? 0.5 : 0; });
        store_lines<DType::f16>(kSharedB, 16, 16, [](int, int) { return 1; });
        ptx::bar_warp_sync(~0u);
        u32 a[8], b[8], d[4] = {0x68006800u, 0x68006800u, 0x68006800u, 0x68006800u};
        ptx::wmma_load_a<16, DType::f16, true>(a, kSharedA, 24);
        ptx::wmma_load_b<16, DType::f16, true>(b, kSharedB, 24);
        ptx::wmma_mma<16, DType::f16, true, true>(d, a, b);
        EXPECT_EQ(d[0], 0x68016801u);  // 2049.5 is 2050
      },
      kWarp);
}

template <int kStride, u32 kOffset>
void load_padded() {
  store_lines<DType::f16>(kSharedA, 20, 16, a_value);
  ptx::bar_warp_sync(~0u);
  u32 a[8];
  ptx::wmma_load_a<16, DType::f16, true>(a, kSharedA + kOffset, kStride);
}

TEST_F(Wmma, LoadsLinesAtMultiplesOf16Bytes) {
  expect_good(load_padded<24, 0>, kWarp);
  expect_found(Hazard::misaligned, Instruction::wmma_load_a, load_padded<20, 0>, kWarp);
  expect_found(Hazard::misaligned, Instruction::wmma_load_a, load_padded<24, 8>, kWarp);
}

TEST_F(Wmma, LoadsTheSameFromGlobalMemory) {
  const u64 global = matrix("A", 18, 64).address();
  constexpr int kGlobalStride = 64, kSharedStride = 40;  // 64 bytes lie between rows in global memory
  const auto load = [=](u32 offset) {
    for (int i = thread_index(); i < 16 * 16; i += 32) {
      const u64 element = global + offset + static_cast<u64>(i / 16 * kGlobalStride + i % 16) * 2;
      ptx::st_shared_b16(kSharedA + static_cast<u32>(i / 16 * kSharedStride + i % 16) * 2, ptx::ld_global_b16(element));
    }
    ptx::bar_warp_sync(~0u);
    u32 expected_a[8], a[8], expected_b[8], b[8];
    ptx::wmma_load_a<16, DType::f16, true>(expected_a, kSharedA, kSharedStride);
    ptx::wmma_load_b<16, DType::f16, false>(expected_b, kSharedA, kSharedStride);
    ptx::wmma_load_a_global<DType::f16, true>(a, global + offset, kGlobalStride);
    ptx::wmma_load_b_global<DType::f16, false>(b, global + offset, kGlobalStride);
    for (int i = 0; i < 8; ++i) {
      EXPECT_EQ(a[i], expected_a[i]);
      EXPECT_EQ(b[i], expected_b[i]);
    }
  };
  expect_good([=] { load(0); }, kWarp);
  expect_good([=] { load(32); }, kWarp);
  expect_found(
      Hazard::bad_operand, Instruction::wmma_load_a, [=] { load(16); }, kWarp);
  expect_found(
      Hazard::out_of_bounds, Instruction::wmma_load_b,
      [=] {
        u32 b[8];
        ptx::wmma_load_b_global<DType::f16, true>(b, global + 4 * 128, kGlobalStride);
      },
      kWarp);
}

TEST_F(Wmma, StoresRowsAtMultiplesOfAFragment) {
  const auto f32 = [](int stride) { return [stride] { ptx::wmma_store_d<16>(kSharedD, F32Sums().d, stride); }; };
  const auto f16 = [](int stride) { return [stride] { ptx::wmma_store_d<16>(kSharedD, F16Sums().d, stride); }; };
  expect_good(f32(24), kWarp);
  expect_found(Hazard::misaligned, Instruction::wmma_store_d, f32(20), kWarp);
  expect_good(f16(24), kWarp);
  expect_found(Hazard::misaligned, Instruction::wmma_store_d, f16(20), kWarp);
}

TEST_F(Wmma, LanesAgreeOnAddressAndStride) {
  const auto store = [](u32 step) {
    return [step] { ptx::wmma_store_d<16>(kSharedD + (thread_index() == 9 ? step : 0), F16Sums().d, 24); };
  };
  expect_good(store(0), kWarp);
  expect_found(Hazard::bad_operand, Instruction::wmma_store_d, store(16), kWarp);
  expect_found(
      Hazard::bad_operand, Instruction::wmma_load_a,
      [] {
        store_lines<DType::f16>(kSharedA, 20, 16, a_value);
        ptx::bar_warp_sync(~0u);
        u32 a[8];
        ptx::wmma_load_a<16, DType::f16, true>(a, kSharedA, thread_index() == 4 ? 16 : 24);
      },
      kWarp);
}

TEST_F(Wmma, IsNoBarrier) {
  expect_conflict(
      [] {
        store_lines<DType::f16>(kSharedA, 16, 16, a_value);
        u32 a[8];
        ptx::wmma_load_a<16, DType::f16, true>(a, kSharedA, 24);
      },
      kWarp);
  expect_conflict(
      [] {
        ptx::wmma_store_d<16>(kSharedD, F16Sums().d, 24);
        ptx::ld_shared_b16(kSharedD + static_cast<u32>(thread_index()) * 2 % 32);
      },
      kWarp);
}

TEST_F(Wmma, ReadsWhatHasBeenWritten) {
  expect_found(
      Hazard::uninitialised, Instruction::wmma_load_b,
      [] {
        u32 b[8];
        ptx::wmma_load_b<16, DType::f16, true>(b, kSharedB, 24);
      },
      kWarp);
  expect_found(
      Hazard::out_of_bounds, Instruction::wmma_store_d,
      [] { ptx::wmma_store_d<16>(kShared + 8192 - 256, F16Sums().d, 24); }, kWarp);
}

TEST_F(Wmma, NeedsAFullWarp) {
  expect_found(Hazard::bad_operand, Instruction::wmma_store_d, [] { ptx::wmma_store_d<16>(kSharedD, F16Sums().d, 24); },
               {.threads = 40, .shared_bytes = 8192});
  expect_found(
      Hazard::stuck, Instruction::wmma_store_d,
      [] {
        if (thread_index() != 5) ptx::wmma_store_d<16>(kSharedD, F16Sums().d, 24);
      },
      kWarp);
}

TEST_F(Wmma, RowsWithoutPaddingMeetInBanks) {
  const auto conflicts = [&](int stride) {
    return run(
               [stride] {
                 for (int i = thread_index(); i < 16 * stride; i += 32)
                   ptx::st_shared_b16(kSharedA + static_cast<u32>(i) * 2, 0);
                 ptx::bar_warp_sync(~0u);
                 u32 a[8];
                 ptx::wmma_load_a<16, DType::f16, true>(a, kSharedA, stride);
               },
               kWarp)
        .counters[Instruction::wmma_load_a]
        .conflicts;
  };
  EXPECT_EQ(conflicts(24), 0u);
  EXPECT_EQ(conflicts(16), 4u);   // rows 0 and 4 of each phase
  EXPECT_EQ(conflicts(64), 28u);  // all eight rows of each phase
  EXPECT_EQ(conflicts(72), 0u);
}

}  // namespace
}  // namespace hotgemm::emulate
