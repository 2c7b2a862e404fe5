#include "config/repack.hpp"

#include "config/traits.hpp"
#include "config/workspace.hpp"
#include "gpu/repack_launch.hpp"
#include "plan/candidates.hpp"
#include "plan/choice.hpp"
#include "plan/model.hpp"
#include "shared/repack_args.hpp"
#include "tune/candidate.hpp"
#include "unit/plan_fixture.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

constexpr const char* kRepackArch = "sm_90a";

bool is_wgmma(const KernelConfig& config) { return family_of(config).name == "wgmma"; }
bool reads_aligned_rows(const KernelConfig& config) { return is_wgmma(config) && !loads_by_threads(config); }

Workload workload(const char* text) { return parse_workload(text); }

TEST(Repack, LaunchRepacksWhatItsKernelCannotRead) {
  const WgmmaConfig config;
  struct Case {
    const char* problem;
    const char* launch;
  };
  for (const auto& [problem, launch] :
       {Case{"64 64 64 nn f16", "r8m"}, Case{"64 64 64 nn f16 align=8", "r8m_xab"},
        Case{"64 64 64 nn f16 align=2,16,16", "r8m_xa"}, Case{"64 64 64 nn bf16 align=16,4,16", "r8m_xb"},
        Case{"64 64 64 nn f16 align=16,16,2", "r8m"},
        // Rows along m or n that are shorter than a line, in all of the class, are copied as columns.
        Case{"48 64 64 tn f16 align=2,16,16", "r8m_xat"}, Case{"33 64 64 tt f16 align=2,16,16", "r8m_xat"},
        Case{"49 64 64 tn f16 align=2,16,16", "r8m_xa"}, Case{"64 63 64 nn f16 align=16,2,16", "r8m_xbt"},
        Case{"64 64 64 tn f16 align=2,2,16", "r8m_xab"}, Case{"48 63 63 nt f16 align=2", "r8m_xab"},
        Case{"48 64 64 tn f16 batch=3 align=2,16,16", "r8m_xa"}}) {
    EXPECT_EQ(to_string(with_repacks({}, config, workload(problem))), launch) << problem;
    EXPECT_EQ(to_string(with_repacks({}, MmaConfig{}, workload(problem))), "r8m") << problem;
    const GemmTraits seen = traits_of(workload(problem), with_repacks({}, config, workload(problem)));
    EXPECT_EQ(seen.vec_a, 8) << problem;
    EXPECT_EQ(seen.vec_b, 8) << problem;
  }
  EXPECT_EQ(with_repacks({.repack_a = Repack::aligned}, config, workload("64 64 64 nn f16")), LaunchConfig{});
}

/// wgmma reads columns of elements that have not 16 bits only if k is contiguous. Lanes can load its rows: those of A,
/// or of B if the config is transposed.
TEST(Repack, LaunchTransposesWhatInstructionsCannotRead) {
  struct Case {
    const char* problem;
    const char* launch;
    const char* transposed;
  };
  const WgmmaConfig plain, transposed{.transposed = true};
  for (const Case& c :
       {Case{"64 64 64 nt s8 align=16", "r8m", "r8m"}, Case{"64 64 64 nn s8 align=16", "r8m_xbt", "r8m"},
        Case{"64 64 64 tt tf32 align=16", "r8m", "r8m_xat"}, Case{"64 64 64 tn e4m3 align=16", "r8m_xbt", "r8m_xat"},
        Case{"64 64 64 nn s8 align=1,16,16", "r8m_xabt", "r8m_xa"},
        Case{"64 64 64 nt tf32 align=4,16,4", "r8m_xa", "r8m_xa"}, Case{"64 64 64 tn f16 align=16", "r8m", "r8m"}}) {
    SCOPED_TRACE(c.problem);
    const Workload problem = workload(c.problem);
    EXPECT_EQ(to_string(with_repacks({}, plain, problem)), c.launch);
    EXPECT_EQ(to_string(with_repacks({}, transposed, problem)), c.transposed);
    EXPECT_EQ(to_string(with_repacks({}, SimtConfig{}, problem)), "r8m");
    for (const WgmmaConfig& config : {plain, transposed}) {
      const GemmTraits seen = traits_of(problem, with_repacks({}, config, problem));
      EXPECT_EQ(seen.vec_a * size_bytes(seen.element), 16);
      EXPECT_TRUE(size_bytes(seen.element) == 2 || config.column_tile(seen).k_major);
    }
    const auto configs = candidates(problem, arch_limits(kRepackArch));
    for (const bool is_transposed : {false, true}) {
      const auto is_so = [&](const KernelConfig& config) {
        return is_wgmma(config) && std::get<WgmmaConfig>(config).transposed == is_transposed;
      };
      EXPECT_TRUE(std::ranges::any_of(configs, is_so)) << is_transposed;
    }
    std::set<std::string> names;
    for (const KernelConfig& config : configs) EXPECT_TRUE(names.insert(to_string(config)).second) << to_string(config);
  }
  EXPECT_EQ(to_string(with_repacks({}, MmaConfig{}, workload("64 64 64 tn s8 align=4"))), "r8m");
  EXPECT_EQ(to_string(with_repacks({}, MmaConfig{}, workload("64 64 64 tn s8 align=1,4,4"))), "r8m_xa");
  EXPECT_EQ(to_string(with_repacks({}, FmaConfig{}, workload("64 64 64 nn s8 align=4,1,4"))), "r8m_xbt");
  EXPECT_EQ(to_string(with_repacks({}, FmaConfig{.stages = 0}, workload("64 64 64 tn s8 align=1,1,4"))), "r8m");
  EXPECT_EQ(to_string(with_repacks({}, FmaConfig{}, workload("64 64 64 nn f32 align=4"))), "r8m");
  const Problem p = workload("112 208 304 tn s8");  // A is stored 304x112, and copied as 112x304
  EXPECT_EQ(repacked_bytes(with_repacks({}, plain, Workload(p)), p), 208u * 384);
  EXPECT_EQ(repacked_bytes(with_repacks({}, transposed, Workload(p)), p), 112u * 384);
  EXPECT_EQ(repacked_bytes(with_repacks({}, FmaConfig{}, Workload(p)), p), 112u * 384 + 208u * 384);
}

TEST(Repack, OnlyKernelsThatNeedAlignedRowsHaveSuchLaunches) {
  EXPECT_TRUE(is_legal(LaunchConfig{.repack_a = Repack::aligned}, WgmmaConfig{}));
  EXPECT_TRUE(is_legal(LaunchConfig{.repack_b = Repack::transposed}, WgmmaConfig{}));
  EXPECT_TRUE(is_legal(LaunchConfig{.repack_b = Repack::aligned}, MmaConfig{}));
  EXPECT_FALSE(is_legal(LaunchConfig{.repack_a = Repack::aligned}, SimtConfig{}));
}

TEST(Repack, WorkspaceHoldsTheCopies) {
  const Problem p = workload("100 200 300 tn f16 align=2");  // A is stored 300x100, B 300x200
  const auto bytes = [&](const LaunchConfig& launch) { return workspace_size(WgmmaConfig{}, launch, p).scratch_bytes; };
  EXPECT_EQ(bytes({}), 0u);
  EXPECT_EQ(bytes({.repack_a = Repack::aligned}), 300u * 128 * 2);
  EXPECT_EQ(bytes({.repack_b = Repack::aligned}), 300u * 256 * 2);
  EXPECT_EQ(bytes({.repack_a = Repack::aligned, .repack_b = Repack::aligned}), 300u * 384 * 2);
  EXPECT_EQ(repacked_bytes({.shape = {.rows = 3, .cols = 13}, .element_bytes = 2}), 256u);  // 96, in whole alignments
}

/// Each product of a batch has matrices of its own. Groups say on the device where theirs are, and pointers too.
TEST(Repack, BatchesAreCopiedWholeAndGroupsAndPointersNotAtAll) {
  for (const auto& [text, launch] :
       {std::pair("104 200 300 tn f16 batch=5", "r8m"), std::pair("100 201 300 tn f16 batch=5 align=16,2,2", "r8m_xb"),
        std::pair("64 64 64 nn s8 batch=3 align=16", "r8m_xbt"),
        std::pair("100 200 300 tn f16 batch=5,pointers align=2", "r8m"),
        std::pair("100 200 300 nn f16 groups=5 align=2", "r8m"),
        std::pair("1 1 1 nt f16 batch=1048576 align=2", "r8m_xab"),
        std::pair("1 1 1 nt f16 batch=1048577 align=2", "r8m")}) {
    EXPECT_EQ(to_string(with_repacks({}, WgmmaConfig{}, workload(text))), launch) << text;
  }
  const Workload batch = workload("100 201 300 tn f16 batch=5 align=16,2,2");
  EXPECT_EQ(repacked_bytes(with_repacks({}, WgmmaConfig{}, batch), batch), 5u * 300 * 256 * 2);
  EXPECT_TRUE(std::ranges::any_of(candidates(batch, arch_limits(kRepackArch)), reads_aligned_rows));
}

/// They are more than any cap of workspace, and do not wrap around.
TEST(Repack, CopiesBeyondAllMemoryHaveASize) {
  constexpr std::int64_t kMany = std::numeric_limits<std::int32_t>::max();
  const std::size_t bytes = repacked_bytes({.shape = {kMany, kMany}, .element_bytes = 4, .products = kMany});
  EXPECT_GT(bytes, std::size_t{1} << 62);
  const Workload problem = workload("2147482623 2147482623 2147482623 nt tf32 batch=1048576 align=4");
  const LaunchConfig both{.repack_a = Repack::aligned, .repack_b = Repack::aligned};
  EXPECT_EQ(repacked_bytes(both, problem), bytes);
}

/// Matrices that follow one another as rows do are one tall matrix.
TEST(Repack, MatricesWithoutGapsAreOneMatrix) {
  const OperandCopy copy{.shape = {.rows = 7, .cols = 13}, .element_bytes = 2, .products = 5};
  const RepackMatrix tall = repack_matrix(copy, nullptr, 13, 4096, 7 * 13);
  EXPECT_EQ(tall.products, 1u);
  EXPECT_EQ(tall.rows, 35);
  const RepackMatrix apart = repack_matrix(copy, nullptr, 13, 4096, 7 * 13 + 1);
  EXPECT_EQ(apart.products, 5u);
  EXPECT_EQ(apart.rows, 7);
  EXPECT_EQ(apart.stride, 2 * (7 * 13 + 1));
  EXPECT_EQ(apart.of_product(2).from, 2u * 2 * (7 * 13 + 1));
  EXPECT_EQ(apart.of_product(2).to, 4096u + 2 * 7 * copy.ld() * 2);
  EXPECT_EQ(apart.all_parts(), 5 * apart.parts());
  OperandCopy transposed = copy;
  transposed.is_transposed = true;
  EXPECT_EQ(repack_matrix(transposed, nullptr, 7, 4096, 7 * 13).products, 5u) << "a tile has rows of one matrix";
  OperandCopy many = copy;
  many.products = std::numeric_limits<int>::max();
  EXPECT_EQ(repack_matrix(many, nullptr, 13, 4096, 7 * 13).rows, 7) << "too many rows for one";
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
  const Workload aligned = workload("520 520 520 nn f16");
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
  for (const LaunchConfig& launch : launches) {
    EXPECT_EQ(launch.repack_a, Repack::none) << to_string(launch);
    EXPECT_EQ(launch.repack_b, Repack::aligned) << to_string(launch);
  }
  const auto one_tile = rasters(config, workload("8 8 64 nn f16 align=2"), 132, 10);
  ASSERT_EQ(one_tile.size(), 1u);
  EXPECT_EQ(to_string(one_tile.front()), "r1mp_xabt");
  for (const Candidate& candidate : pick_candidates(problem, device, 40)) {
    EXPECT_EQ(repacks(candidate.launch), reads_aligned_rows(candidate.config)) << to_string(candidate.config);
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

TEST(Repack, SearchLeavesOutCudaCoresWhereTensorCoresNeedACopy) {
  for (const char* text : {"4096 4096 4096 nn s8 align=2,2,16", "4096 4096 4096 tt e4m3 align=2,2,16"}) {
    for (const Candidate& row : pick_candidates(workload(text), nominal_device(kRepackArch), 24))
      EXPECT_TRUE(repacks(row.launch)) << text << " " << to_string(row.config);
  }
}

TEST(Repack, SearchTriesKernelsThatReadOperandsAsTheyLieBesideCopies) {
  for (const char* text : {"64 8192 8192 nn s8", "64 8192 8192 tn tf32", "4096 4096 4096 tt e4m3"}) {
    const bool lanes_load =
        workload(text).op_a == Op::n || workload(text).op_b == Op::t;  // else both lie the other way
    const std::vector<Candidate> rows = pick_candidates(workload(text), nominal_device(kRepackArch), 24);
    const auto copies = std::ranges::count_if(rows, [](const Candidate& row) { return repacks(row.launch); });
    EXPECT_GE(copies, 3) << text;
    EXPECT_GE(std::ssize(rows) - copies, 3) << text;
    for (const Candidate& row : rows) {
      const std::string_view family = family_of(row.config).name;
      const bool may_be_mma = !repacks(row.launch), may_be_wgmma = repacks(row.launch) || lanes_load;
      EXPECT_TRUE((may_be_mma && family == "mma") || (may_be_wgmma && family == "wgmma"))
          << text << " " << to_string(row.config);
    }
  }
}

/// The families that copy read copies in forms of their own.
TEST(Repack, EveryFamilyHasCandidatesThatReadCopies) {
  const auto has = [](const char* text, const char* arch, std::string_view family) {
    return std::ranges::any_of(candidates(workload(text), arch_limits(arch)), [&](const KernelConfig& config) {
      return family_of(config).name == family && repacks(with_repacks({}, config, workload(text)));
    });
  };
  EXPECT_TRUE(has("4096 4096 4096 nt e4m3 acc=f32,fast align=1,1,2", "sm_89", "mma"));
  EXPECT_TRUE(has("4096 4096 4096 nn e4m3 align=16,1,16", "sm_90a", "mma"));
  EXPECT_TRUE(has("2048 2048 2048 tn s8 align=1,1,4", "sm_75", "fma"));
  for (const char* layout : {"nn", "tt", "tn"}) {
    // Scales of blocks and one-tile blocks need both operands along k.
    const std::string scales = "e4m3 epilogue=scale_a:block_1x128+scale_b:block_128x128";
    EXPECT_TRUE(has(fmt::format("4096 4096 4096 {} {}", layout, scales).c_str(), "sm_90a", "wgmma")) << layout;
    const std::string fast = fmt::format("1024 1024 1024 {} e4m3 acc=f32,fast align=16", layout);
    EXPECT_TRUE(std::ranges::any_of(candidates(workload(fast.c_str()), arch_limits("sm_90a")), [](const auto& config) {
      const auto* const wgmma = std::get_if<WgmmaConfig>(&config);
      return wgmma != nullptr && wgmma->one_tile;
    })) << layout;
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
