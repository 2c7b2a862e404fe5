// Tests of family fma's index arithmetic, as laws, and of its configs.

#include "config/refusal.hpp"
#include "config/traits.hpp"
#include "plan/fma_menu.hpp"
#include "plan/model.hpp"
#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

constexpr TypePair kF32Pair{DType::f32, DType::f32};
constexpr TypePair kS8Words{DType::s8, DType::s32, DType::s8, DType::s32};

// The shapes of the ladder's rungs, and unusual ones.
std::vector<FmaConfig> more_configs() {
  std::vector<FmaConfig> configs = fma_menu(make_traits(kF32Pair, kLayouts[1], false, 4));
  const std::vector<FmaConfig> more = {
      {.block_m = 32,
       .block_n = 32,
       .block_k = 32,
       .thread_m = 1,
       .thread_n = 1,
       .access = 1,
       .packed = false,
       .padded = false},
      {.block_m = 64,
       .block_n = 64,
       .block_k = 16,
       .thread_m = 4,
       .thread_n = 4,
       .access = 1,
       .packed = false,
       .padded = false},
      {.block_m = 96, .block_n = 32, .block_k = 64, .thread_m = 6, .thread_n = 4, .access = 4, .packed = false},
      {.block_m = 24, .block_n = 48, .block_k = 14, .thread_m = 3, .thread_n = 3, .access = 1, .packed = false},
      {.block_m = 128, .block_n = 128, .block_k = 8, .access = 4, .packed = false, .padded = false},
      {.block_m = 128, .block_n = 128, .block_k = 8, .access = 4},
      {.block_m = 128, .block_n = 128, .block_k = 16, .stages = 2, .access = 2},
      {.block_m = 256, .block_n = 128, .block_k = 32, .thread_m = 16, .stages = 2, .access = 1},
      {.block_m = 128, .block_n = 128, .block_k = 8, .access = 4, .packed = false, .padded = false, .group = 4},
      {.block_m = 128, .block_n = 128, .block_k = 16, .access = 4, .transposed = false, .group = 4},
      {.block_m = 32,
       .block_n = 32,
       .block_k = 32,
       .thread_m = 1,
       .thread_n = 1,
       .access = 1,
       .packed = false,
       .padded = false,
       .transposed = false},
  };
  configs.insert(configs.end(), more.begin(), more.end());
  return configs;
}

template <class Visit>  // void(const FmaConfig&, DType)
void for_each_config(Visit&& visit) {
  for (const FmaConfig& config : more_configs()) {
    for (const DType element : {DType::f16, DType::f32}) {
      SCOPED_TRACE(to_string(KernelConfig(config)) + " " + std::to_string(size_bytes(element)));
      visit(config, element);
    }
  }
}

TEST(ThreadTile, ThreadsHaveEachElementOnce) {
  for_each_config([](const FmaConfig& config, DType element) {
    const ThreadTile tile = config.thread_tile(element);
    ASSERT_EQ(tile.lanes_m * tile.lanes_n, std::min(32, config.slice_threads()));
    std::set<std::pair<int, int>> seen;
    for (int thread = 0; thread < config.slice_threads(); ++thread) {
      const ThreadPlace place = tile.place(thread);
      for (int i = 0; i < config.thread_m; ++i) {
        for (int j = 0; j < config.thread_n; ++j) {
          const std::pair<int, int> at{place.m + tile.row_step(i), place.n + tile.col_step(j)};
          ASSERT_LT(at.first, config.block_m);
          ASSERT_LT(at.second, config.block_n);
          ASSERT_TRUE(seen.insert(at).second) << at.first << ", " << at.second;
        }
      }
    }
    EXPECT_EQ(seen.size(), static_cast<std::size_t>(config.block_m * config.block_n));
  });
}

TEST(ThreadTile, GroupsAreNeighboursOfAtMost16Bytes) {
  for_each_config([](const FmaConfig& config, DType element) {
    const ThreadTile tile = config.thread_tile(element);
    EXPECT_LE(tile.group_m * size_bytes(element), 16);
    EXPECT_EQ(config.thread_m % tile.group_m, 0);
    for (int i = 0; i < config.thread_m; ++i) {
      EXPECT_EQ(tile.row_step(i) - tile.row_step(i / tile.group_m * tile.group_m), i % tile.group_m);
    }
    for (int j = 0; j < config.thread_n; ++j) {
      EXPECT_EQ(tile.col_step(j) - tile.col_step(j / tile.group_n * tile.group_n), j % tile.group_n);
    }
  });
}

/// The family multiplies words of four s8, which are as long as an f32.
TEST(ThreadTile, S8HasTheTilesOfF32) {
  for (const FmaConfig& config : more_configs()) {
    const ThreadTile words = config.thread_tile(DType::s8), f32 = config.thread_tile(DType::f32);
    EXPECT_EQ(words.group_n, f32.group_n);
    EXPECT_EQ(words.lanes_n, f32.lanes_n);
    FmaConfig longer = config;
    longer.block_k *= 4;
    longer.access *= 4;
    const FmaTile tile = longer.operand_tile(longer.block_m, true, DType::s8);
    EXPECT_EQ(tile.bytes(), config.operand_tile(config.block_m, true, DType::f32).bytes());
    EXPECT_EQ(tile.accesses(), config.operand_tile(config.block_m, true, DType::f32).accesses());
  }
}

TEST(ThreadTile, WarpsOfPackedTilesAreSquare) {
  const ThreadTile square = FmaConfig{.thread_m = 8, .thread_n = 8}.thread_tile(DType::f32);
  EXPECT_EQ(square.warp_m() + square.warp_n(), 32 + 64);
  const ThreadTile tall = FmaConfig{.block_m = 256, .thread_m = 16, .thread_n = 8}.thread_tile(DType::f32);
  EXPECT_EQ(tall.warp_m(), 64);
  EXPECT_EQ(tall.warp_n(), 64);
  const ThreadTile wide =
      FmaConfig{.block_m = 32, .block_n = 32, .thread_m = 1, .thread_n = 1, .packed = false}.thread_tile(DType::f16);
  EXPECT_EQ(wide.lanes_n, 32);
}

/// Lane 2i and its right neighbour share their columns, and each lane shares its rows with the lane two further. So
/// 16-byte loads of both operands take two wavefronts per warp instead of four.
TEST(ThreadTile, NeighboursShareWhatTheyLoad) {
  const ThreadTile tile = FmaConfig{}.thread_tile(DType::f32);
  for (int lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(tile.place(lane).n, tile.place(lane ^ 1).n);
    EXPECT_EQ(tile.place(lane).m, tile.place(lane ^ 2).m);
  }
}

template <class Visit>  // void(const FmaTile&)
void for_each_tile(Visit&& visit) {
  for_each_config([&](const FmaConfig& config, DType element) {
    for (const bool k_major : {false, true}) {
      const FmaTile tile = config.operand_tile(config.block_m, k_major, element);
      if (tile.row_elements() % tile.access == 0 && tile.access * tile.element_bytes <= 16) visit(tile);
    }
  });
}

TEST(FmaTile, UntransposedTilesLieAsInGlobalMemory) {
  const FmaConfig config{.block_k = 16, .transposed = false};
  const FmaTile along_k = config.operand_tile(128, true, DType::f16);
  EXPECT_FALSE(along_k.transposes());
  EXPECT_EQ(along_k.offset_bytes(3, 5), 3 * (16 * 2 + 16) + 5 * 2);
  EXPECT_EQ(along_k.bytes(), 128 * (16 * 2 + 16));
  const FmaTile by_rows = config.operand_tile(128, false, DType::f16),
                usual = FmaConfig{.block_k = 16}.operand_tile(128, false, DType::f16);
  EXPECT_EQ(by_rows.offset_bytes(3, 5), usual.offset_bytes(3, 5));
  EXPECT_TRUE((FmaConfig{.async_copy = true, .transposed = false}.copies_async(true, DType::f16)));
  EXPECT_FALSE((FmaConfig{.async_copy = true}.copies_async(true, DType::f16)));
}

TEST(FmaTile, CopiesTouchEachElementOnce) {
  for_each_tile([](const FmaTile& tile) {
    std::set<int> offsets;
    std::size_t copied = 0;
    for (int thread = 0; thread < tile.threads; ++thread) {
      for (int pass = 0; pass < tile.row_passes(); ++pass) {
        const int row = tile.thread_row(thread) + pass * tile.pass_rows();
        if (row >= tile.rows()) {
          ASSERT_TRUE(tile.has_idle_threads());
          continue;
        }
        for (int c = 0; c < tile.col_passes(); ++c) {
          for (int e = 0; e < tile.access; ++e) {
            const int col = tile.thread_col(thread) + c * tile.col_step() + e;
            ASSERT_LT(col, tile.row_elements());
            const int offset = tile.k_major ? tile.offset_bytes(row, col) : tile.offset_bytes(col, row);
            ASSERT_LE(offset + tile.element_bytes, tile.bytes());
            ASSERT_TRUE(offsets.insert(offset).second) << row << ", " << col;
            ++copied;
          }
        }
      }
    }
    EXPECT_EQ(copied, static_cast<std::size_t>(tile.rows() * tile.row_elements()));
  });
}

/// The largest number of lanes of a warp that need different words of one bank, when each lane stores element `e` of
/// its first access.
int worst_bank(const FmaTile& tile, int e) {
  std::array<std::set<int>, 32> words;
  for (int lane = 0; lane < 32; ++lane) {
    const int word = tile.offset_bytes(tile.thread_row(lane), tile.thread_col(lane) + e) / 4;
    words[static_cast<std::size_t>(word % 32)].insert(word);
  }
  std::size_t worst = 0;
  for (const auto& bank : words) worst = std::max(worst, bank.size());
  return static_cast<int>(worst);
}

TEST(FmaTile, TransposingStoresToPaddedRowsMeetInNoBank) {
  int conflicts_without = 0;
  for (const int element_bytes : {2, 4}) {
    for (const int block_k : {8, 16, 32}) {
      for (int access = 1; access * element_bytes <= 16; access *= 2) {
        FmaTile tile{128, block_k, element_bytes, true, access, 128, true};
        for (int e = 0; e < access; ++e) {
          EXPECT_EQ(worst_bank(tile, e), 1) << element_bytes << " " << block_k << " " << access;
          tile.padded = false;
          conflicts_without += worst_bank(tile, e) > 1 ? 1 : 0;
          tile.padded = true;
        }
      }
    }
  }
  EXPECT_GT(conflicts_without, 20);
}

/// Eight lanes read 16 bytes each at once.
TEST(FmaTile, QuadsOfEightLanesMeetInNoBank) {
  const GemmTraits traits = make_traits(kF32Pair, {Op::n, Op::t}, false, 4);
  int count = 0;
  for (const FmaConfig& config : fma_menu(traits)) {
    if (!config.quads) continue;
    ++count;
    const ThreadTile threads = config.thread_tile(DType::f32);
    for (int first = 0; first < 32; first += 8) {
      std::set<int> rows, cols, banks_of_rows, banks_of_cols;
      for (int lane = first; lane < first + 8; ++lane) {
        const ThreadPlace place = threads.place(lane % config.slice_threads());
        const int a = config.a_tile(traits).offset_bytes(place.m, 0),
                  b = config.b_tile(traits).offset_bytes(place.n, 0);
        rows.insert(a), banks_of_rows.insert(a % 128);
        cols.insert(b), banks_of_cols.insert(b % 128);
      }
      EXPECT_EQ(rows.size(), banks_of_rows.size()) << to_string(KernelConfig(config));
      EXPECT_EQ(cols.size(), banks_of_cols.size()) << to_string(KernelConfig(config));
    }
  }
  EXPECT_GE(count, 20);
}

TEST(FmaConfig, GroupsAreWholeAccesses) {
  const auto legal = [](int group, bool packed, int thread_m = 8) {
    const FmaConfig config{.thread_m = thread_m, .access = 4, .packed = packed, .group = group};
    return is_legal(config, make_traits({DType::f16, DType::f16}, {}), arch_limits("sm_90a"));
  };
  for (const int group : {0, 4, 8}) EXPECT_TRUE(legal(group, true)) << group;
  for (const int group : {-1, 1, 2, 3, 6, 16}) EXPECT_FALSE(legal(group, true)) << group;
  for (const int group : {1, 2}) EXPECT_TRUE(legal(group, false)) << group;
  EXPECT_FALSE(legal(8, false, 4)) << "more than a thread has";
}

/// Packed kernels read neighbours along m and n, of which untransposed tiles have none. Elements of A may be read
/// alone.
TEST(FmaConfig, UntransposedTilesOfBAreReadByElements) {
  const auto legal = [](bool packed, Op op_b, int stages = 1) {
    const FmaConfig config{.stages = stages, .access = 1, .packed = packed, .padded = false, .transposed = false};
    return is_legal(config, make_traits({DType::f16, DType::f16}, {Op::n, op_b}), arch_limits("sm_90a"));
  };
  EXPECT_TRUE(legal(true, Op::n));
  EXPECT_FALSE(legal(true, Op::t));
  EXPECT_TRUE(legal(false, Op::t));
  EXPECT_FALSE(legal(false, Op::n, 0)) << "there is no tile";
}

/// Quads are for f32 whose rows run along k.
TEST(FmaConfig, QuadsAreOfF32InRowsAlongK) {
  const auto legal = [](const FmaConfig& config, DType element = DType::f32) {
    const TypePair types{element, DType::f32};
    return is_legal(config, make_traits(types, {Op::n, Op::t}, false, 4), arch_limits("sm_90a"));
  };
  FmaConfig config{.block_m = 32, .block_n = 32, .block_k = 64, .thread_m = 2, .thread_n = 2, .stages = 2, .access = 4};
  config.packed = config.transposed = false;
  EXPECT_TRUE(legal(config, DType::f16)) << "without quads";
  config.quads = true;
  EXPECT_TRUE(legal(config));
  EXPECT_FALSE(legal(config, DType::f16));
  const auto illegal = [&](auto&& change) {
    FmaConfig changed = config;
    change(changed);
    return !legal(changed);
  };
  EXPECT_TRUE(illegal([](FmaConfig& c) { c.transposed = true; }));
  EXPECT_TRUE(illegal([](FmaConfig& c) { c.group = 2; }));
  EXPECT_TRUE(illegal([](FmaConfig& c) { c.thread_m = c.thread_n = 4, c.packed = true; }));
  EXPECT_TRUE(illegal([](FmaConfig& c) { c.stages = 0, c.access = 1, c.padded = false; }));
}

TEST(FmaConfig, ManySlicesAreRefused) {
  const GemmTraits traits = make_traits(kF32Pair, {Op::n, Op::t}, false, 4);
  FmaConfig config{.block_m = 1024, .block_n = 1024, .block_k = 8, .thread_m = 1024, .thread_n = 1024, .stages = 1};
  config.slices = 1024;
  EXPECT_EQ(refusal(config, traits, "sm_90a").substr(0, 41), "shared memory: 4290772992 bytes per block");
  config.slices = 134'217'729;  // times the threads of a slice it exceeds 32 bits
  EXPECT_FALSE(is_legal(config, traits, arch_limits("sm_90a")));
}

/// Slices are whole warps, or 8 or 16 threads, and have two steps of each k-tile at least.
TEST(FmaConfig, SlicesDivideTheStepsOfATile) {
  const auto legal = [](FmaConfig config, Op op_b, DType accumulator = DType::f32) {
    const TypePair types{accumulator == DType::f16 ? DType::f16 : DType::f32, accumulator};
    return is_legal(config, make_traits(types, {Op::n, op_b}, false, 4), arch_limits("sm_90a"));
  };
  const FmaConfig tile{.block_m = 2,
                       .block_n = 32,
                       .block_k = 64,
                       .thread_m = 2,
                       .thread_n = 1,
                       .stages = 2,
                       .access = 2,
                       .packed = false};
  const auto with = [&](int slices, bool quads, int block_n = 32) {
    FmaConfig config = tile;
    config.block_n = block_n;
    config.slices = slices;
    config.quads = quads;
    config.transposed = !quads;
    return config;
  };
  for (const int slices : {1, 2, 4, 8, 16, 32}) EXPECT_TRUE(legal(with(slices, false), Op::n)) << slices;
  for (const int slices : {-1, 0, 3, 64}) EXPECT_FALSE(legal(with(slices, false), Op::n)) << slices;
  for (const int slices : {1, 2, 4, 8}) EXPECT_TRUE(legal(with(slices, true), Op::t)) << slices;
  EXPECT_FALSE(legal(with(16, true), Op::t)) << "one step";
  EXPECT_FALSE(legal(with(2, true), Op::n)) << "columns of B do not run along k";
  EXPECT_TRUE(legal(with(4, true, 8), Op::t)) << "8 threads";
  EXPECT_FALSE(legal(with(8, true, 4), Op::t)) << "4 threads";
  EXPECT_FALSE(legal(with(2, false), Op::n, DType::f16)) << "sums of 16 bits";
}

TEST(FmaConfig, MultipliesWordsOfS8) {
  const GemmTraits nt = make_traits(kS8Words, {Op::n, Op::t}, false, 4);
  const ArchLimits& hopper = arch_limits("sm_90a");
  const FmaConfig good{.block_k = 32, .stages = 2, .access = 4};
  EXPECT_TRUE(is_legal(good, nt, hopper));
  EXPECT_EQ(good.steps(DType::s8), 8);
  const auto legal = [&](auto&& change) {
    FmaConfig config = good;
    change(config);
    return is_legal(config, nt, hopper);
  };
  EXPECT_FALSE(legal([](FmaConfig& c) { c.access = 2; })) << "half a word";
  EXPECT_FALSE(legal([](FmaConfig& c) { c.access = 16; })) << "the operands allow 4 bytes";
  EXPECT_FALSE(legal([](FmaConfig& c) { c.block_k = 30; })) << "no whole words";
  EXPECT_FALSE(legal([](FmaConfig& c) { c.block_k = 4; })) << "one step";
  EXPECT_TRUE(legal([](FmaConfig& c) { c.block_k = 128; }));
  for (const Layout& layout : kLayouts) {
    const bool is_nt = layout.op_a == Op::n && layout.op_b == Op::t;
    EXPECT_EQ(is_legal(good, make_traits(kS8Words, layout, false, 4), hopper), is_nt);
    const FmaConfig naive{.stages = 0, .access = 1, .packed = false, .padded = false};
    EXPECT_TRUE(is_legal(naive, make_traits(kS8Words, layout, false, 1), hopper));
  }
  EXPECT_FALSE(is_legal(good, make_traits({DType::s8, DType::f32, DType::s8, DType::s32}, {Op::n, Op::t}), hopper));
}

TEST(FmaConfig, SaysWhatItCannotDo) {
  const GemmTraits f32 = make_traits(kF32Pair, kLayouts[0], false, 4), f16 = make_traits(kTensorTypes[0], kLayouts[0]);
  const ArchLimits &hopper = arch_limits("sm_90a"), &turing = arch_limits("sm_75");
  const FmaConfig good{.stages = 2, .access = 4};
  EXPECT_TRUE(is_legal(good, f32, hopper));
  EXPECT_TRUE(is_legal(good, f32, turing));
  const auto legal = [&](auto&& change, const GemmTraits& traits, const ArchLimits& arch) {
    FmaConfig config = good;
    change(config);
    return is_legal(config, traits, arch);
  };
  EXPECT_FALSE(legal([](FmaConfig& c) { c.access = 8; }, f32, hopper)) << "32 bytes";
  EXPECT_FALSE(legal([](FmaConfig& c) { c.access = 8; }, make_traits(kTensorTypes[0], kLayouts[0], false, 4), hopper));
  EXPECT_TRUE(legal([](FmaConfig& c) { c.access = 8; }, f16, hopper));
  EXPECT_FALSE(legal([](FmaConfig& c) { c.stages = 3; }, f32, hopper)) << "through registers";
  EXPECT_TRUE(legal([](FmaConfig& c) { c.stages = 3, c.async_copy = true; }, f32, hopper));
  EXPECT_FALSE(legal([](FmaConfig& c) { c.async_copy = true; }, f32, turing)) << "no cp.async";
  EXPECT_FALSE(legal([](FmaConfig& c) { c.async_copy = true, c.access = 1; }, f16, hopper))
      << "cp.async cannot copy 2 bytes";
  EXPECT_FALSE(legal([](FmaConfig& c) { c.thread_m = 4; }, f16, hopper)) << "packed fragments need 16 bytes";
  EXPECT_TRUE(legal([](FmaConfig& c) { c.block_m = 64, c.thread_m = 4, c.packed = false; }, f16, hopper));
  EXPECT_FALSE(legal([](FmaConfig& c) { c.stages = 0; }, f32, hopper)) << "packed needs shared memory";
  EXPECT_FALSE(legal([](FmaConfig& c) { c.thread_m = c.thread_n = 16; }, f32, hopper)) << "256 sums";
  EXPECT_FALSE(legal([](FmaConfig& c) { c.block_k = 1; }, f32, hopper));
  EXPECT_FALSE(is_legal(good, make_traits({DType::bf16, DType::f16}, kLayouts[0]), hopper));
}

}  // namespace
}  // namespace hotgemm
