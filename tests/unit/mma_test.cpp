#include "unit/plan_fixture.hpp"
#include "unit/recorded_mma.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

constexpr u32 kShared = 1024;

/// Extents of the menu's tiles along m or n, with the warps along them or the threads of the block.
struct OuterWarps {
  int outer, warps;
};
struct OuterThreads {
  int outer, threads;
};
// The last one has a number of warps that is not a power of two. This is legal, but no line of the menu has it.
constexpr OuterWarps kOuterWarps[] = {{16, 1}, {32, 1},  {64, 1},  {128, 1}, {256, 1}, {32, 2},
                                      {64, 2}, {96, 2},  {128, 2}, {160, 2}, {192, 2}, {256, 2},
                                      {64, 4}, {128, 4}, {192, 4}, {256, 4}, {96, 3}};
constexpr OuterThreads kOuterThreads[] = {{16, 32},   {16, 64},   {16, 128},  {32, 32},   {32, 64},   {32, 128},
                                          {64, 64},   {64, 128},  {64, 256},  {96, 128},  {96, 256},  {128, 128},
                                          {128, 256}, {128, 512}, {160, 128}, {160, 256}, {192, 128}, {192, 256},
                                          {256, 128}, {256, 256}, {256, 512}};

constexpr TileLayout tile_of(int outer, int block_k, bool k_major, bool swizzle) {
  return MmaConfig{.block_k = block_k, .swizzle = swizzle}.operand_tile(GemmTraits{}, outer, k_major);
}

std::string name(const TileLayout& tile, bool k_major) {
  return std::to_string(tile.rows) + " rows of " + std::to_string(tile.row_chunks) + " chunks, " +
         (k_major ? "k-major, " : "other, ") + (tile.swizzle ? "swizzled" : "padded");
}

TEST(Mma, TablesHoldEveryCandidate) {
  for_each_mma_candidate([](const MmaConfig& c, const GemmTraits&) {
    for (const auto& [outer, warps] : {OuterWarps{c.block_m, c.warps_m}, OuterWarps{c.block_n, c.warps_n}}) {
      ASSERT_TRUE(std::ranges::any_of(kOuterWarps, [&](auto& e) { return e.outer == outer && e.warps == warps; }))
          << "add {" << outer << ", " << warps << "} to kOuterWarps";
      ASSERT_TRUE(
          std::ranges::any_of(kOuterThreads, [&](auto& e) { return e.outer == outer && e.threads == c.threads(); }))
          << "add {" << outer << ", " << c.threads() << "} to kOuterThreads";
    }
    ASSERT_TRUE(c.block_k == 32 || c.block_k == 64) << "instantiate block_k " << c.block_k;
  });
}

// ---- FragmentSource ----

struct FragmentCase {
  TileLayout tile;
  bool k_major;
  int outer, warps, block_k;
  int matrices;  // matrices per load; two of them make it 8 wide
  LdmatrixRecord (*load)(LdmatrixLane lane, int warp, int block, int k_step);
};

/// The order in which the families use them. With four matrices, warps take 16-wide blocks alternately. With two, each
/// warp has adjacent 8-wide blocks.
constexpr int warp_step(int outer, int warps, int matrices) { return matrices == 4 ? 16 : outer / warps; }
constexpr int block_step(int warps, int matrices) { return matrices == 4 ? 16 * warps : 8; }

template <TileLayout kTile, bool kKMajor, int kWarpStep, int kBlockStep, int kMatrices>
LdmatrixRecord load_fragment(LdmatrixLane lane, int warp, int block, int k_step) {
  u32 registers[kMatrices];
  FragmentSource<kTile, kKMajor, kWarpStep, kBlockStep, kMatrices>(lane, warp).load(registers, kShared, block, k_step);
  return recorder().ldmatrix;
}

template <OuterWarps kCase, int kBlockK, bool kKMajor, bool kSwizzle, int kMatrices = 4>
FragmentCase fragment_case() {
  constexpr TileLayout kTile = tile_of(kCase.outer, kBlockK, kKMajor, kSwizzle);
  return {kTile,
          kKMajor,
          kCase.outer,
          kCase.warps,
          kBlockK,
          kMatrices,
          load_fragment<kTile, kKMajor, warp_step(kCase.outer, kCase.warps, kMatrices),
                        block_step(kCase.warps, kMatrices), kMatrices>};
}

template <std::size_t... kIndex>
std::vector<FragmentCase> fragment_cases(std::index_sequence<kIndex...>) {
  std::vector<FragmentCase> cases;
  const auto add = [&]<OuterWarps kCase>() {
    for (const FragmentCase& one : {fragment_case<kCase, 32, false, false>(), fragment_case<kCase, 32, false, true>(),
                                    fragment_case<kCase, 32, true, false>(), fragment_case<kCase, 32, true, true>(),
                                    fragment_case<kCase, 64, false, false>(), fragment_case<kCase, 64, false, true>(),
                                    fragment_case<kCase, 64, true, false>(), fragment_case<kCase, 64, true, true>()}) {
      cases.push_back(one);
    }
  };
  (add.template operator()<kOuterWarps[kIndex]>(), ...);
  return cases;
}

/// Checks one ldmatrix of `warp`: each lane gives the address of its chunk in TileLayout, and no phase has a bank
/// conflict.
void check_ldmatrix(const FragmentCase& c, LdmatrixLane (*lane_of)(int, bool), int warp, int block, int k_step,
                    std::set<u32>& read) {
  unsigned bank_groups = 0;
  for (int lane = 0; lane < c.matrices * 8; ++lane) {
    const LdmatrixLane at = lane_of(lane, c.k_major);
    const LdmatrixRecord found = c.load(at, warp, block, k_step);
    const int first = warp * warp_step(c.outer, c.warps, c.matrices) + block * block_step(c.warps, c.matrices);
    const int row = at.row + (c.k_major ? first : 16 * k_step);
    const int chunk = at.chunk + (c.k_major ? 2 * k_step : first / 8);
    const u32 offset = found.shared - kShared;
    ASSERT_EQ(offset, static_cast<u32>(c.tile.offset_bytes(row, chunk)))
        << "warp " << warp << " block " << block << " k-step " << k_step << " lane " << lane;
    ASSERT_EQ(found.transposed, !c.k_major);
    ASSERT_TRUE(read.insert(offset).second);
    if (lane % 8 == 0) bank_groups = 0;
    bank_groups |= 1U << (offset / kChunkBytes % kBankGroups);
    ASSERT_TRUE(lane % 8 < 7 || bank_groups == 0xffU) << "warp " << warp << " block " << block << " k-step " << k_step;
  }
}

void check_fragments(const FragmentCase& c, LdmatrixLane (*lane_of)(int, bool)) {
  SCOPED_TRACE(name(c.tile, c.k_major) + ", " + std::to_string(c.warps) + " warps");
  std::set<u32> read;
  for (int warp = 0; warp < c.warps; ++warp) {
    for (int block = 0; block < c.outer / (c.matrices / 2 * 8) / c.warps; ++block) {
      for (int k_step = 0; k_step < c.block_k / 16; ++k_step) {
        ASSERT_NO_FATAL_FAILURE(check_ldmatrix(c, lane_of, warp, block, k_step, read));
      }
    }
  }
  ASSERT_EQ(read.size(), static_cast<std::size_t>(c.tile.rows * c.tile.row_chunks));
}

TEST(Mma, FragmentsCoverTheTileOnceWhereTileLayoutSays) {
  const auto cases = fragment_cases(std::make_index_sequence<std::size(kOuterWarps)>());
  ASSERT_EQ(cases.size(), 8 * std::size(kOuterWarps));
  for (const FragmentCase& c : cases) {
    for (const auto lane_of : {ldmatrix_a_lane, ldmatrix_b_lane}) ASSERT_NO_FATAL_FAILURE(check_fragments(c, lane_of));
  }
}

TEST(Mma, FragmentsOfOneProductCoverTheTileOnce) {
  for (const FragmentCase& c : {
           fragment_case<OuterWarps{128, 4}, 16, false, false, 2>(),
           fragment_case<OuterWarps{128, 4}, 16, true, false, 2>(),
           fragment_case<OuterWarps{128, 4}, 32, false, true, 2>(),
           fragment_case<OuterWarps{128, 4}, 32, true, true, 2>(),
           fragment_case<OuterWarps{48, 2}, 48, false, true, 2>(),
           fragment_case<OuterWarps{48, 2}, 48, true, true, 2>(),
           fragment_case<OuterWarps{72, 3}, 32, false, true, 2>(),
           fragment_case<OuterWarps{8, 1}, 16, false, false, 2>(),
           fragment_case<OuterWarps{8, 1}, 16, true, false, 2>(),
       }) {
    ASSERT_NO_FATAL_FAILURE(check_fragments(c, ldmatrix_x2_b_lane));
  }
}

// ---- TileCopy ----

constexpr u64 kMatrix = u64{1} << 40;
constexpr i64 kLd = 3'000'000'064;  // rows are further apart than 32 bits can express

/// The place of a block in a matrix: its start, and the extents of the matrix, which cut its tiles.
struct Edges {
  int outer0, outers, k;
};

enum class Path { whole, partial };
/// The copies of all threads for the k-tile `k_tile`.
using IssueTile = std::vector<CopyRecord> (*)(const Edges& edges, int k_tile, Path path);

template <TileLayout kTile, bool kKMajor, int kVec, int kThreads>
std::vector<CopyRecord> issue_tile(const Edges& edges, int k_tile, Path path) {
  recorder().copies.clear();
  for (int thread = 0; thread < kThreads; ++thread) {
    TileCopy<kTile, kKMajor, kVec, kThreads> copy(kMatrix, kLd, edges.outer0, edges.outers, edges.k, thread);
    for (int i = 0; i < k_tile; ++i) copy.advance();
    path == Path::whole ? copy.issue_whole(kShared) : copy.issue_partial(kShared);
  }
  return recorder().copies;
}

struct CopyCase {
  TileLayout tile;
  bool k_major;
  int vec, outer, block_k, threads;
  IssueTile issue;
  bool (*is_inside)(int outer, int outers);
};

template <OuterThreads kCase, int kVec, int kBlockK, bool kKMajor, bool kSwizzle>
CopyCase copy_case() {
  constexpr TileLayout kTile = tile_of(kCase.outer, kBlockK, kKMajor, kSwizzle);
  return {kTile,
          kKMajor,
          kVec,
          kCase.outer,
          kBlockK,
          kCase.threads,
          issue_tile<kTile, kKMajor, kVec, kCase.threads>,
          TileCopy<kTile, kKMajor, kVec, kCase.threads>::is_inside};
}

template <int kVec, std::size_t... kIndex>
std::vector<CopyCase> copy_cases(std::index_sequence<kIndex...>) {
  std::vector<CopyCase> cases;
  const auto add = [&]<OuterThreads kCase>() {
    cases.push_back(copy_case<kCase, kVec, 32, false, true>());
    cases.push_back(copy_case<kCase, kVec, 32, true, true>());
    cases.push_back(copy_case<kCase, kVec, 64, false, true>());
    cases.push_back(copy_case<kCase, kVec, 64, true, true>());
    if constexpr (kVec == 8) {  // padding changes only offset_bytes
      cases.push_back(copy_case<kCase, kVec, 32, false, false>());
      cases.push_back(copy_case<kCase, kVec, 64, true, false>());
    }
  };
  (add.template operator()<kOuterThreads[kIndex]>(), ...);
  return cases;
}

/// Checks that each element of the tile is written once, with the right element or, beyond the matrix, with zero, and
/// that nothing beyond the matrix is read.
void check_tile(const CopyCase& c, const Edges& edges, int k_tile, Path path) {
  const std::vector<CopyRecord> copies = c.issue(edges, k_tile, path);
  const int k0 = k_tile * c.block_k;
  const int first_row = c.k_major ? edges.outer0 : k0, first_col = c.k_major ? k0 : edges.outer0;
  const int rows = c.k_major ? edges.outers : edges.k, cols = c.k_major ? edges.k : edges.outers;
  const int row_elements = c.tile.row_chunks * 8;
  ASSERT_EQ(copies.size(), static_cast<std::size_t>(c.tile.rows * row_elements / c.vec));
  std::vector<const CopyRecord*> at(static_cast<std::size_t>(c.tile.bytes() / 2), nullptr);
  for (const CopyRecord& copy : copies) {
    ASSERT_LE(copy.shared - kShared, static_cast<u32>(c.tile.bytes() - c.vec * 2));
    at[(copy.shared - kShared) / 2] = &copy;
  }
  for (int row = 0; row < c.tile.rows; ++row) {
    for (int col = 0; col < row_elements; col += c.vec) {
      const CopyRecord* copy = at[static_cast<std::size_t>((c.tile.offset_bytes(row, col / 8) + col % 8 * 2) / 2)];
      const int inside = first_row + row < rows ? std::clamp(cols - (first_col + col), 0, c.vec) : 0;
      const u64 source = kMatrix + static_cast<u64>((first_row + row) * kLd + first_col + col) * 2;
      if (copy != nullptr && copy->valid_bytes == inside * 2 && (inside == 0 || copy->global == source)) continue;
      FAIL() << "k-tile " << k_tile << ", row " << row << " col " << col
             << (copy == nullptr ? " is not written"
                                 : " gets " + std::to_string(copy->valid_bytes) + " bytes from " +
                                       std::to_string(copy->global - kMatrix) + " and not " +
                                       std::to_string(inside * 2) + " from " + std::to_string(source - kMatrix));
    }
  }
}

template <int kVec>
void check_copies() {
  const auto cases = copy_cases<kVec>(std::make_index_sequence<std::size(kOuterThreads)>());
  ASSERT_GE(cases.size(), 4 * std::size(kOuterThreads));
  for (const CopyCase& c : cases) {
    SCOPED_TRACE(name(c.tile, c.k_major) + ", " + std::to_string(c.threads) + " threads");
    // Tiles inside the matrix, and tiles cut in both dimensions; k is cut in the first or the second tile.
    for (const Edges& edges : {Edges{c.outer, 2 * c.outer, 2 * c.block_k},
                               Edges{c.outer, 2 * c.outer - 3, c.block_k - 5}, Edges{0, 1, 2 * c.block_k - 9}}) {
      const bool is_inside = c.is_inside(edges.outer0, edges.outers);
      ASSERT_EQ(is_inside, edges.outer0 + c.outer <= edges.outers);
      for (const int k_tile : {0, 1}) {
        ASSERT_NO_FATAL_FAILURE(check_tile(c, edges, k_tile, Path::partial));
        if (!is_inside || (k_tile + 1) * c.block_k > edges.k) continue;
        ASSERT_NO_FATAL_FAILURE(check_tile(c, edges, k_tile, Path::whole));
      }
    }
  }
}

TEST(Mma, TileCopyWritesEachElementOnceBy16Bytes) { check_copies<8>(); }
TEST(Mma, TileCopyWritesEachElementOnceBy8Bytes) { check_copies<4>(); }
TEST(Mma, TileCopyWritesEachElementOnceBy4Bytes) { check_copies<2>(); }
TEST(Mma, TileCopyWritesEachElementOnceBy2Bytes) { check_copies<1>(); }

}  // namespace
}  // namespace hotgemm
