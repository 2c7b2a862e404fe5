// wgmma.mma_async with its rows in registers: which element each of them holds, and until when.

#include "emulate/device_fixture.hpp"

#include "emulate/emulated_wgmma.hpp"

#include <bit>

namespace hotgemm::emulate {
namespace {

/// Products of 64×8 words with 8×8.
class WgmmaRows : public EmulatedDevice {
 protected:
  static constexpr int kWidth = 8, kDepth = 8, kRegisters = WgmmaShape::kRegistersOfA;
  static constexpr Shape kBlock{.threads = 128, .shared_bytes = kWidth * kDepth * 4};
  using Words = EmulatedWgmma<kWidth, DType::tf32, DType::f32, true, true, DType::tf32, true>;

  static u32 word(int value) { return std::bit_cast<u32>(static_cast<float>(value)); }

  /// The columns: 8 words of k each, in blocks of eight rows of 16 bytes.
  static void write_columns() {
    if (const int at = ptx::thread_index(); at < kWidth * kDepth) {
      const int col = at / kDepth, k = at % kDepth;
      ptx::st_shared_b32(kShared + static_cast<u32>(k / 4 * 128 + col * 16 + k % 4 * 4), word(b_value(k, col)));
    }
    ptx::fence_proxy_async();
    ptx::bar_sync();
  }
  static u64 columns() { return u64{kShared >> 4} | u64{128 >> 4} << 16 | u64{128 >> 4} << 32; }

  /// The first row of this thread's registers.
  static int first_row() { return ptx::thread_index() / 32 * 16 + ptx::thread_index() % 32 / 4; }

  /// The registers of this thread, from the PTX ISA's figure for m64nNk8.
  static void load_rows(u32 (&rows)[kRegisters]) {
    for (int r = 0; r < kRegisters; ++r)
      rows[r] = word(a_value(first_row() + r % 2 * 8, ptx::thread_index() % 4 + r / 2 * 4));
  }

  static void expect_product_times(int factor, const float (&d)[kWidth / 2]) {
    for (int i = 0; i < kWidth / 2; ++i) {
      const int row = first_row() + (i & 2 ? 8 : 0), col = ptx::thread_index() % 4 * 2 + (i & 1);
      int sum = 0;
      for (int k = 0; k < kDepth; ++k) sum += a_value(row, k) * b_value(k, col);
      EXPECT_EQ(d[i], static_cast<float>(factor * sum)) << "thread " << ptx::thread_index() << " d" << i;
    }
  }
};

TEST_F(WgmmaRows, AreThoseOfTheirLanes) {
  expect_good(
      [] {
        write_columns();
        u32 rows[2][kRegisters];
        float d[kWidth / 2];
        for (int product = 0; product < 4; ++product) {
          load_rows(rows[product % 2]);
          ptx::wgmma_fence();
          Words::mma_async(d, rows[product % 2], columns(), product > 0);
          ptx::wgmma_commit_group();
          ptx::wgmma_wait_group<1>();
        }
        ptx::wgmma_wait_group<0>();
        expect_product_times(4, d);
      },
      kBlock);
}

TEST_F(WgmmaRows, AreReadUntilTheWait) {
  expect_good(
      [] {
        write_columns();
        u32 rows[kRegisters];
        float d[kWidth / 2];
        load_rows(rows);
        ptx::wgmma_fence();
        Words::mma_async(d, rows, columns(), false);
        ptx::wgmma_commit_group();
        for (u32& row : rows) row = 0;
        ptx::bar_sync();  // no thread waits before all have written
        ptx::wgmma_wait_group<0>();
        expect_product_times(0, d);
      },
      kBlock);
}

TEST_F(WgmmaRows, AreFencedBeforeEachProduct) {
  const auto kernel = [](bool fences) {
    return [=] {
      write_columns();
      u32 rows[kRegisters];
      float d[kWidth / 2];
      load_rows(rows);
      ptx::wgmma_fence();
      Words::mma_async(d, rows, columns(), false);
      if (fences) ptx::wgmma_fence();
      Words::mma_async(d, rows, columns(), true);
      ptx::wgmma_commit_group();
      ptx::wgmma_wait_group<0>();
    };
  };
  expect_good(kernel(true), kBlock);
  expect_found(Hazard::conflict, Instruction::wgmma_mma_async, kernel(false), kBlock);
}

}  // namespace
}  // namespace hotgemm::emulate
