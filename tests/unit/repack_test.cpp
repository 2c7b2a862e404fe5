#include "config/repack.hpp"

#include "config/traits.hpp"
#include "config/workspace.hpp"
#include "plan/candidates.hpp"
#include "plan/choice.hpp"
#include "plan/model.hpp"
#include "shared/repack_args.hpp"
#include "tune/candidate.hpp"
#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

namespace hotgemm {
namespace {

constexpr const char* kRepackArch = "sm_90a";

bool is_wgmma(const KernelConfig& config) { return family_of(config).name == "wgmma"; }
bool reads_aligned_rows(const KernelConfig& config) { return is_wgmma(config) && !loads_by_threads(config); }

Workload workload(const char* text) { return parse_workload(text); }

TEST(Repack, RowsOfCopiesAreWholeLinesOrShort) {
  for (long long cols = 1; cols <= 1000; ++cols) {
    const long long ld = repacked_ld(cols);
    ASSERT_GE(ld, cols);
    ASSERT_EQ(ld % kRepackChunkElements, 0);
    if (cols >= kRepackLineElements) {
      ASSERT_EQ(ld % kRepackLineElements, 0);
      ASSERT_LT(ld - cols, kRepackLineElements);
    } else {
      ASSERT_TRUE(kRepackLineElements % ld == 0);  // no row begins in one line and ends in another
      ASSERT_TRUE(ld == kRepackChunkElements || ld < 2 * cols);
    }
  }
}

TEST(Repack, DividerDividesAllNumbersThatUnitsHave) {
  for (unsigned chunks = 1; chunks <= 300; ++chunks) {
    const RowDivider divider(chunks);
    for (unsigned number = 0; number < chunks + kRepackUnitChunks; ++number) {
      ASSERT_EQ(divider.quotient(number), number / chunks) << number << " / " << chunks;
    }
  }
}

/// Each chunk belongs either to the ends or to the inner part, and is copied once.
TEST(Repack, PartsHaveEachChunkOnce) {
  for (const int rows : {1, 2, 3, 8, 16, 24, 25, 129, 300}) {
    for (const int cols : {1, 8, 9, 100, 1000}) {
      const RepackMatrix matrix{
          .rows = rows, .cols = cols, .row_chunks = static_cast<unsigned>(repacked_ld(cols) / kRepackChunkElements)};
      std::vector<int> copies(matrix.chunks());
      for (unsigned lane = 0; lane < kRepackLanes; ++lane) {
        const auto chunk = matrix.end_chunk(lane);
        if (chunk < matrix.chunks()) ++copies[chunk];
      }
      for (unsigned long long chunk = 0; chunk < (matrix.parts() - 1) * kRepackUnitChunks; ++chunk) {
        if (matrix.is_inner(chunk)) ++copies.at(chunk);
      }
      EXPECT_TRUE(std::ranges::all_of(copies, [](int count) { return count == 1; })) << rows << "x" << cols;
    }
  }
}

/// Whole granules of inner chunks lie within the matrix.
TEST(Repack, InnerChunksReadNothingOutside) {
  for (const int cols : {1, 2, 3, 5, 7, 8, 9, 15, 33, 63, 64, 65, 200}) {
    for (const int gap : {0, 1, 6}) {
      for (unsigned long long from = 4096; from < 4112; from += 2) {
        const RepackMatrix matrix{.from = from,
                                  .ld = cols + gap,
                                  .rows = 60,
                                  .cols = cols,
                                  .row_chunks = static_cast<unsigned>(repacked_ld(cols) / kRepackChunkElements)};
        for (unsigned long long chunk = 0; chunk < matrix.chunks(); ++chunk) {
          if (!matrix.is_inner(chunk)) continue;
          const auto row = static_cast<long long>(chunk / matrix.row_chunks);
          const auto col = static_cast<long long>(chunk % matrix.row_chunks) * kRepackChunkElements;
          if (col >= cols) continue;
          const long long last = std::min<long long>(col + kRepackChunkElements, cols) - 1;
          const auto address = [&](long long c) {
            return from + static_cast<unsigned long long>(row * matrix.ld + c) * kRepackElementBytes;
          };
          ASSERT_GE(address(col) / 16 * 16, from);
          ASSERT_LE(address(last) / 16 * 16 + 16, address((matrix.rows - 1) * matrix.ld + cols - row * matrix.ld))
              << cols << "+" << gap << " at " << from << ": " << chunk;
        }
      }
    }
  }
}

TEST(Repack, BlocksPrefetchTheChunksInsideAMatrixOnce) {
  for (const auto& [rows, cols, gap] : {std::tuple(1, 1, 0), {1, 7, 3}, {3, 5, 0}, {1023, 1023, 0}, {100, 1001, 7}}) {
    for (unsigned long long from = 4096; from < 4112; from += 2) {
      const RepackMatrix matrix{.from = from, .ld = cols + gap, .rows = rows, .cols = cols};
      const unsigned long long end = from + 2ull * static_cast<unsigned>((rows - 1) * (cols + gap) + cols);
      constexpr unsigned kBlocks = 264;
      unsigned next = 0;
      for (unsigned block = 0; block < kBlocks; ++block) {
        const ByteShare share = prefetch_share(matrix, kBlocks, block);
        if (share.count == 0) continue;
        ASSERT_EQ(share.first, next);
        ASSERT_EQ(share.count % 16, 0u);
        next += share.count;
      }
      const unsigned long long begin = matrix.aligned_begin();
      ASSERT_EQ(begin % 16, 0u);
      ASSERT_LT(begin - from, 16u);
      ASSERT_EQ(next, end / 16 * 16 > begin ? end / 16 * 16 - begin : 0) << rows << "x" << cols << " at " << from;
    }
  }
}

TEST(Repack, NothingOfLargeMatricesOrGapsIsPrefetched) {
  const RepackMatrix large{.from = 4096, .ld = 4095, .rows = 4095, .cols = 4095};
  const RepackMatrix gaps{.from = 4096, .ld = 1031, .rows = 8, .cols = 1023};
  for (const RepackMatrix& matrix : {large, gaps, RepackMatrix{}}) EXPECT_EQ(prefetch_share(matrix, 1, 0).count, 0u);
}

TEST(Repack, LaunchRepacksWhatItsKernelCannotRead) {
  const WgmmaConfig config;
  struct Case {
    const char* problem;
    const char* launch;
  };
  for (const auto& [problem, launch] :
       {Case{"64 64 64 nn f16", "r8m"}, Case{"64 64 64 nn f16 align=8", "r8m_xab"},
        Case{"64 64 64 nn f16 align=2,16,16", "r8m_xa"}, Case{"64 64 64 nn bf16 align=16,4,16", "r8m_xb"},
        Case{"64 64 64 nn f16 align=16,16,2", "r8m"}}) {
    EXPECT_EQ(to_string(with_repacks({}, config, workload(problem))), launch) << problem;
    EXPECT_EQ(to_string(with_repacks({}, MmaConfig{}, workload(problem))), "r8m") << problem;
    const GemmTraits seen = traits_of(workload(problem), with_repacks({}, config, workload(problem)));
    EXPECT_EQ(seen.vec_a, 8) << problem;
    EXPECT_EQ(seen.vec_b, 8) << problem;
  }
  EXPECT_EQ(with_repacks({.repack_a = true}, config, workload("64 64 64 nn f16")), LaunchConfig{});
}

TEST(Repack, OnlyKernelsThatNeedAlignedRowsHaveSuchLaunches) {
  EXPECT_TRUE(is_legal(LaunchConfig{.repack_a = true}, WgmmaConfig{}));
  EXPECT_FALSE(is_legal(LaunchConfig{.repack_b = true}, MmaConfig{}));
  EXPECT_FALSE(is_legal(LaunchConfig{.repack_a = true}, SimtConfig{}));
}

TEST(Repack, WorkspaceHoldsTheCopies) {
  const Problem p = workload("100 200 300 tn f16 align=2");  // A is stored 300x100, B 300x200
  const auto bytes = [&](const LaunchConfig& launch) { return workspace_size(WgmmaConfig{}, launch, p).scratch_bytes; };
  EXPECT_EQ(bytes({}), 0u);
  EXPECT_EQ(bytes({.repack_a = true}), 300u * 128 * 2);
  EXPECT_EQ(bytes({.repack_b = true}), 300u * 256 * 2);
  EXPECT_EQ(bytes({.repack_a = true, .repack_b = true}), 300u * 384 * 2);
  EXPECT_EQ(repacked_bytes(StoredShape{.rows = 3, .cols = 13}), 256u);  // 96, in whole alignments
}

TEST(Repack, MenusHaveKernelsOfEveryWayForUnalignedRows) {
  for (const char* text : {"512 512 512 nn f16 align=2", "512 512 512 tt bf16 align=8,16,16"}) {
    for (const auto& configs :
         {candidates(workload(text), arch_limits(kRepackArch)), anchors(workload(text), arch_limits(kRepackArch))}) {
      EXPECT_TRUE(std::ranges::any_of(configs, reads_aligned_rows)) << text;
      EXPECT_TRUE(std::ranges::any_of(configs, loads_by_threads)) << text;
      EXPECT_FALSE(std::ranges::all_of(configs, is_wgmma)) << text;
      std::vector<KernelConfig> unique;
      for (const KernelConfig& config : configs) {
        EXPECT_EQ(std::ranges::find(unique, config), unique.end()) << to_string(config);
        unique.push_back(config);
      }
    }
    EXPECT_TRUE(std::ranges::none_of(candidates(workload(text), arch_limits("sm_80")), is_wgmma)) << text;
  }
  const Workload aligned = workload("512 512 512 nn f16");
  EXPECT_EQ(candidates(aligned, arch_limits(kRepackArch)), candidates(traits_of(aligned), arch_limits(kRepackArch)));
}

TEST(Repack, ModelPrefersItForLargeProducts) {
  const DeviceInfo device = nominal_device(kRepackArch);
  for (const char* text : {"4095 4095 4095 nn f16 align=2", "1023 1023 1023 nn f16 align=2"}) {
    const Workload problem = workload(text);
    const KernelConfig first = rank(anchors(problem, arch_limits(kRepackArch)), problem, device).front();
    EXPECT_TRUE(is_wgmma(first)) << text << ": " << to_string(first);
    Workload aligned = problem;
    aligned.hints.align_a = aligned.hints.align_b = 16;
    EXPECT_GT(predict_us(first, problem, device), predict_us(first, aligned, device));
    EXPECT_LT(predict_us(first, problem, device), 2 * predict_us(first, aligned, device));
  }
}

TEST(Repack, ModelPrefersThreadsWhereLoadsAreShort) {
  const DeviceInfo device = nominal_device(kRepackArch);
  const auto first = [&](const char* text) {
    return rank(anchors(workload(text), arch_limits(kRepackArch)), workload(text), device).front();
  };
  EXPECT_TRUE(loads_by_threads(first("2048 512 13 nn f16 align=2,16,16"))) << "the copy takes as long as the product";
  EXPECT_TRUE(reads_aligned_rows(first("4095 4095 4095 nn f16 align=2"))) << "threads load too slowly";
}

TEST(Repack, RastersAndChoicesRepack) {
  const DeviceInfo device = nominal_device(kRepackArch);
  const Workload problem = workload("4095 4095 4095 nn f16 align=16,2,16");
  const WgmmaConfig config{};
  EXPECT_TRUE(to_string(default_launch(config, problem, device)).ends_with("m_xb"));
  const auto launches = rasters(config, problem, 132, 10);
  EXPECT_GT(launches.size(), 10u);
  for (const LaunchConfig& launch : launches) EXPECT_TRUE(launch.repack_b && !launch.repack_a) << to_string(launch);
  const auto one_tile = rasters(config, workload("8 8 64 nn f16 align=2"), 132, 10);
  ASSERT_EQ(one_tile.size(), 1u);
  EXPECT_EQ(to_string(one_tile.front()), "r1mp_xab");
  for (const Candidate& candidate : pick_candidates(problem, device, 40)) {
    EXPECT_EQ(candidate.launch.repack_b, reads_aligned_rows(candidate.config)) << to_string(candidate.config);
  }
}

TEST(Repack, SearchTriesEveryWay) {
  const DeviceInfo device = nominal_device(kRepackArch);
  for (const char* text : {"2048 512 13 nn f16 align=2", "4095 4095 4095 nn f16 align=2"}) {
    const std::vector<Candidate> rows = pick_candidates(workload(text), device, 24);
    const auto repacked = std::ranges::count_if(rows, [](const Candidate& c) { return repacks(c.launch); });
    const auto by_threads = std::ranges::count_if(rows, [](const Candidate& c) { return loads_by_threads(c.config); });
    EXPECT_GE(repacked, 3) << text;
    EXPECT_GE(by_threads, 3) << text;
    EXPECT_GE(std::ssize(rows) - repacked - by_threads, 3) << text;
  }
}

TEST(Repack, SearchTriesNothingThatIsNotAffordable) {
  const auto none = [](const KernelConfig&, const LaunchConfig& launch) { return !repacks(launch); };
  const Workload problem = workload("4095 4095 4095 nn f16 align=2");
  const std::vector<Candidate> rows = pick_candidates(problem, nominal_device(kRepackArch), 24, nullptr, {}, none);
  EXPECT_EQ(rows.size(), 24u);
  for (const Candidate& row : rows) EXPECT_FALSE(reads_aligned_rows(row.config)) << to_string(row.config);
  EXPECT_TRUE(std::ranges::any_of(rows, [](const Candidate& row) { return loads_by_threads(row.config); }));
}

}  // namespace
}  // namespace hotgemm
