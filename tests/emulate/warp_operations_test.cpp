// Instructions of a whole warp, element by element.

#include "emulate/device_fixture.hpp"

#include "emulate/number.hpp"

#include <array>
#include <bit>
#include <utility>

namespace hotgemm::emulate {
namespace {

using ptx::thread_index;

class WarpOperations : public EmulatedDevice {
 protected:
  void run_warp(const std::function<void()>& kernel) {
    const LaunchReport report = run(kernel, {.threads = 32, .shared_bytes = 4096});
    ASSERT_TRUE(report.findings.empty()) << text(report.findings);
    counters_ = report.counters;
  }
  Counters counters_;
};

u16 low(u32 pair) { return static_cast<u16>(pair); }
u16 high(u32 pair) { return static_cast<u16>(pair >> 16); }

/// Stores rows of eight elements. Row r of matrix i is at address 16 * (8 i + r); its element c is 64 i + 8 r + c.
void store_matrices() {
  const int lane = thread_index();
  for (int c = 0; c < 8; ++c) {
    ptx::st_shared_b16(kShared + static_cast<u32>(lane * 16 + c * 2), static_cast<u16>(lane * 8 + c));
  }
  ptx::bar_warp_sync(~0u);
}
u32 row_of_lane() { return kShared + static_cast<u32>(thread_index()) * 16; }

TEST_F(WarpOperations, LdmatrixGivesEachLaneAPairOfARow) {
  run_warp([] {
    store_matrices();
    u32 r[4];
    ptx::ldmatrix_x4(r, row_of_lane());
    const int lane = thread_index();
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(low(r[i]), 64 * i + 8 * (lane / 4) + 2 * (lane % 4)) << lane;
      EXPECT_EQ(high(r[i]), 64 * i + 8 * (lane / 4) + 2 * (lane % 4) + 1) << lane;
    }
  });
  EXPECT_EQ(counters_[Instruction::ldmatrix_x4].executions, 1u);
}

TEST_F(WarpOperations, LdmatrixTransGivesEachLaneAPairOfAColumn) {
  run_warp([] {
    store_matrices();
    u32 r[4];
    ptx::ldmatrix_x4_trans(r, row_of_lane());
    const int lane = thread_index();
    for (int i = 0; i < 4; ++i) {
      EXPECT_EQ(low(r[i]), 64 * i + 8 * (2 * (lane % 4)) + lane / 4) << lane;
      EXPECT_EQ(high(r[i]), 64 * i + 8 * (2 * (lane % 4) + 1) + lane / 4) << lane;
    }
  });
}

TEST_F(WarpOperations, LdmatrixOfTwoMatricesUsesTheFirstLanesAddresses) {
  run_warp([] {
    store_matrices();
    const int lane = thread_index();
    const u32 address = lane < 16 ? row_of_lane() : 0x7ffffff0;
    u32 r[2], t[2];
    ptx::ldmatrix_x2(r, address);
    ptx::ldmatrix_x2_trans(t, address);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(low(r[i]), 64 * i + 8 * (lane / 4) + 2 * (lane % 4)) << lane;
      EXPECT_EQ(high(r[i]), 64 * i + 8 * (lane / 4) + 2 * (lane % 4) + 1) << lane;
      EXPECT_EQ(low(t[i]), 64 * i + 8 * (2 * (lane % 4)) + lane / 4) << lane;
      EXPECT_EQ(high(t[i]), 64 * i + 8 * (2 * (lane % 4) + 1) + lane / 4) << lane;
    }
  });
  EXPECT_EQ(counters_[Instruction::ldmatrix_x2].executions, 1u);
  EXPECT_EQ(counters_[Instruction::ldmatrix_x2].phases, 2u);
  EXPECT_EQ(counters_[Instruction::ldmatrix_x2_trans].phases, 2u);
}

TEST_F(WarpOperations, StmatrixUndoesLdmatrix) {
  run_warp([] {
    store_matrices();
    u32 r[4];
    ptx::ldmatrix_x4(r, row_of_lane());
    ptx::stmatrix_x4(row_of_lane() + 1024, r);
    ptx::bar_warp_sync(~0u);
    for (u32 c = 0; c < 8; ++c) EXPECT_EQ(ptx::ld_shared_b16(row_of_lane() + 1024 + 2 * c), thread_index() * 8 + c);
  });
}

TEST_F(WarpOperations, StmatrixTransUndoesLdmatrixTrans) {
  run_warp([] {
    store_matrices();
    u32 r[4], t[4];
    ptx::ldmatrix_x4_trans(t, row_of_lane());
    ptx::stmatrix_x4_trans(row_of_lane() + 1024, t);
    ptx::ldmatrix_x4(r, row_of_lane());
    ptx::stmatrix_x4_trans(row_of_lane() + 2048, r);  // the transposed matrices
    ptx::bar_warp_sync(~0u);
    const u32 matrix = thread_index() / 8, row = thread_index() % 8;
    for (u32 c = 0; c < 8; ++c) {
      EXPECT_EQ(ptx::ld_shared_b16(row_of_lane() + 1024 + 2 * c), 64 * matrix + 8 * row + c);
      EXPECT_EQ(ptx::ld_shared_b16(row_of_lane() + 2048 + 2 * c), 64 * matrix + 8 * c + row);
    }
  });
}

/// The row and column of the elements that a lane holds, from the figures of the PTX ISA for mma.m16n8k16.
std::pair<int, int> a_place(int lane, int i) {  // a0 … a7
  const int row = lane / 4 + ((i < 2 || (i >= 4 && i < 6)) ? 0 : 8);
  const int col = lane % 4 * 2 + (i & 1) + (i < 4 ? 0 : 8);
  return {row, col};
}
std::pair<int, int> b_place(int lane, int i) {  // b0 … b3
  return {lane % 4 * 2 + (i & 1) + (i < 2 ? 0 : 8), lane / 4};
}
std::pair<int, int> c_place(int lane, int i) {  // c0 … c3
  return {lane / 4 + (i < 2 ? 0 : 8), lane % 4 * 2 + (i & 1)};
}
int c_value(int row, int col) { return row - col; }
int d_value(int row, int col) {
  int sum = c_value(row, col);
  for (int k = 0; k < 16; ++k) sum += a_value(row, k) * b_value(k, col);
  return sum;
}

template <class Place, class Value>
u32 pair_of(const Place& place, const Value& value, int lane, int reg, bool is_f16) {
  const auto element = [&](int i) {
    const auto [row, col] = place(lane, i);
    const double v = value(row, col);
    return is_f16 ? narrow_f16(v) : narrow_bf16(v);
  };
  return element(2 * reg) | u32{element(2 * reg + 1)} << 16;
}

template <DType kType>
void multiply(float (&d)[4]) {
  const int lane = thread_index();
  u32 a[4], b[2];
  for (int r = 0; r < 4; ++r) a[r] = pair_of(a_place, a_value, lane, r, kType == DType::f16);
  for (int r = 0; r < 2; ++r) b[r] = pair_of(b_place, b_value, lane, r, kType == DType::f16);
  ptx::mma_m16n8k16<kType>(d, a, b[0], b[1]);
}

template <DType kType>
void expect_product() {
  const int lane = thread_index();
  float d[4];
  for (int i = 0; i < 4; ++i) d[i] = static_cast<float>(c_value(c_place(lane, i).first, c_place(lane, i).second));
  multiply<kType>(d);
  for (int i = 0; i < 4; ++i) {
    const auto [row, col] = c_place(lane, i);
    EXPECT_EQ(d[i], static_cast<float>(d_value(row, col))) << "lane " << lane << " c" << i;
  }
}

TEST_F(WarpOperations, MmaMultipliesFragmentsAsTheFiguresHaveThem) {
  run_warp([] {
    expect_product<DType::f16>();
    expect_product<DType::bf16>();
  });
  EXPECT_EQ(counters_[Instruction::mma_m16n8k16_f32_f16].executions, 1u);
  EXPECT_EQ(counters_[Instruction::mma_m16n8k16_f32_bf16].executions, 1u);
}

TEST_F(WarpOperations, MmaWithF16AccumulatorsHoldsTwoToARegister) {
  run_warp([] {
    const int lane = thread_index();
    u32 a[4], b[2], d[2];
    for (int r = 0; r < 4; ++r) a[r] = pair_of(a_place, a_value, lane, r, true);
    for (int r = 0; r < 2; ++r) b[r] = pair_of(b_place, b_value, lane, r, true);
    for (int r = 0; r < 2; ++r) d[r] = pair_of(c_place, c_value, lane, r, true);
    ptx::mma_m16n8k16<DType::f16>(d, a, b[0], b[1]);
    for (int r = 0; r < 2; ++r) EXPECT_EQ(d[r], pair_of(c_place, d_value, lane, r, true));
  });
}

TEST_F(WarpOperations, MmaRoundsOnce) {
  run_warp([] {
    const u32 halves = 0x38003800u, ones = 0x3c003c00u, none = 0;
    const u32 a[4] = {halves, halves, none, none};
    // Three of the sixteen products are 0.5; added one by one, none of them would change the sum.
    const u32 b0 = thread_index() % 4 == 0 ? ones : thread_index() % 4 == 1 ? ones & 0xffffu : none;
    float d[4] = {0x1p24f, 0x1p24f, 0x1p24f, 0x1p24f};
    ptx::mma_m16n8k16<DType::f16>(d, a, b0, none);
    EXPECT_EQ(d[0], 0x1p24f + 2);
    u32 pair[2] = {0x68006800u, 0x68006800u};  // 2048
    ptx::mma_m16n8k16<DType::f16>(pair, a, b0, none);
    EXPECT_EQ(pair[0], 0x68016801u);  // 2050
  });
}

// ---- shfl, vote ----

TEST_F(WarpOperations, ShflReadsTheLaneThatItsModeSays) {
  run_warp([] {
    const u32 lane = static_cast<u32>(thread_index());
    const u32 value = 100 + lane, all = ~0u;
    EXPECT_EQ(ptx::shfl_sync_idx_b32(value, 5, 31, all), 105u);
    EXPECT_EQ(ptx::shfl_sync_up_b32(value, 3, 0, all), lane < 3 ? value : value - 3);
    EXPECT_EQ(ptx::shfl_sync_down_b32(value, 3, 31, all), lane > 28 ? value : value + 3);
    EXPECT_EQ(ptx::shfl_sync_bfly_b32(value, 6, 31, all), 100 + (lane ^ 6u));
    // Segments of eight lanes: mask 0x18 in bits 8 to 12, clamp 7.
    const u32 segments = 0x1800 | 7;
    EXPECT_EQ(ptx::shfl_sync_idx_b32(value, 2, segments, all), 100 + lane / 8 * 8 + 2);
    EXPECT_EQ(ptx::shfl_sync_down_b32(value, 1, segments, all), lane % 8 == 7 ? value : value + 1);
    EXPECT_EQ(ptx::shfl_sync_up_b32(value, 1, 0x1800, all), lane % 8 == 0 ? value : value - 1);
  });
}

TEST_F(WarpOperations, HalvesOfAWarpShuffleApart) {
  run_warp([] {
    const u32 lane = static_cast<u32>(thread_index());
    const u32 members = lane < 16 ? 0xffffu : 0xffff0000u;
    if (lane >= 16) ptx::bar_warp_sync(members);
    EXPECT_EQ(ptx::shfl_sync_bfly_b32(lane, 15, 31, members), lane ^ 15u);
  });
}

TEST_F(WarpOperations, ShflFromALaneThatIsNotThereIsUndefined) {
  expect_found(Hazard::bad_operand, Instruction::shfl_sync_idx,
               [] {
                 if (thread_index() < 16) ptx::shfl_sync_idx_b32(1, 20, 31, 0xffffu);
               },
               {.threads = 32});
  expect_found(Hazard::bad_operand, Instruction::vote_sync_any, [] { ptx::vote_sync_any(true, 0xffffu); },
               {.threads = 32});
}

TEST_F(WarpOperations, VotesCountMembers) {
  run_warp([] {
    const int lane = thread_index();
    EXPECT_EQ(ptx::vote_sync_ballot(lane % 3 == 0, ~0u), 0x49249249u);
    EXPECT_TRUE(ptx::vote_sync_any(lane == 31, ~0u));
    EXPECT_FALSE(ptx::vote_sync_any(false, ~0u));
    EXPECT_TRUE(ptx::vote_sync_all(lane < 32, ~0u));
    EXPECT_FALSE(ptx::vote_sync_all(lane != 4, ~0u));
    if (lane < 4) {
      EXPECT_TRUE(ptx::vote_sync_all(lane != 4, 0xfu));
    }
  });
}

TEST_F(WarpOperations, NeedAFullWarp) {
  expect_found(Hazard::bad_operand, Instruction::ldmatrix_x4,
               [] {
                 u32 r[4];
                 ptx::ldmatrix_x4(r, kShared);
               },
               {.threads = 40});
}

}  // namespace
}  // namespace hotgemm::emulate
