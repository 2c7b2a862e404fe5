#include "config/sum_order.hpp"

#include "config/repack.hpp"
#include "config/sm_limit.hpp"
#include "plan/affordable.hpp"
#include "plan/candidates.hpp"
#include "plan/choice.hpp"
#include "sweep_sample.hpp"
#include "tune/candidate.hpp"
#include "unit/database_fixture.hpp"
#include "unit/plan_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

namespace hotgemm {
namespace {

/// The fields of each family that do not change the order of sums, or that sequence_of in src/config/sum_order.cpp
/// considers.
template <class Config>
std::vector<std::string> considered_fields();
template <>
std::vector<std::string> considered_fields<SimtConfig>() {
  return {"block_m", "block_n", "block_k", "thread_m", "thread_n"};
}
template <>
std::vector<std::string> considered_fields<FmaConfig>() {
  return {"block_m", "block_n",    "block_k",       "thread_m",   "thread_n", "stages", "access", "packed",
          "padded",  "async_copy", "blocks_per_sm", "transposed", "group",    "slices", "quads"};
}
template <>
std::vector<std::string> considered_fields<MmaConfig>() {
  return {"block_m",    "block_n", "block_k",          "warps_m",    "warps_n",
          "stages",     "swizzle", "fragment_buffers", "store",      "blocks_per_sm",
          "async_copy", "padded",  "b_matrices",       "serpentine", "recomputes"};
}
template <>
std::vector<std::string> considered_fields<WgmmaConfig>() {
  return {"block_m",   "block_n",   "block_k",       "consumers",  "split_n", "ping_pong", "one_tile", "stages",
          "cluster_m", "cluster_n", "blocks_per_sm", "transposed", "split_k", "loaders",   "promote"};
}
template <>
std::vector<std::string> considered_fields<WmmaConfig>() {
  return {"block_m", "block_n",    "block_k", "warps_m",    "warps_n",
          "stages",  "fragment_m", "padded",  "async_copy", "blocks_per_sm"};
}

TEST(SumOrder, ConsidersEveryFieldOfAConfig) {
  for_each_family([](auto family) {
    using Config = typename decltype(family)::type;
    const std::vector<std::string> considered = considered_fields<Config>();
    Config config;
    Config::visit_fields(config, [&](const auto& field, const auto&) {
      EXPECT_THAT(considered, testing::Contains(std::string(field.name)))
          << "the field may change the order in which a " << FamilyOf<Config>::kFamily.name
          << " kernel adds: if it does, sequence_of in src/config/sum_order.cpp must say so; then add it to this list";
    });
  });
}

TEST(SumOrder, OfADividedKDependsOnItsParts) {
  const WgmmaConfig whole, split{.split_k = true};
  WgmmaConfig deep = split;
  deep.block_k = 128;
  EXPECT_NE(sum_sequence(whole, {}), sum_sequence(split, {}));
  const WgmmaConfig promoted{.block_k = 128, .promote = true};
  WgmmaConfig promoted_parts = deep;
  promoted_parts.promote = true;
  EXPECT_NE(sum_sequence(promoted, {}), sum_sequence(whole, {}));
  EXPECT_NE(sum_sequence(promoted_parts, {.splits = 3}), sum_sequence(deep, {.splits = 3}));
  EXPECT_NE(sum_sequence(split, {.splits = 2}), sum_sequence(split, {.splits = 3}));
  EXPECT_NE(sum_sequence(split, {.splits = 3}), sum_sequence(deep, {.splits = 3}));
  WgmmaConfig wide = split;
  wide.block_n = 128;
  EXPECT_NE(sum_sequence(split, {.splits = 3}), sum_sequence(wide, {.splits = 3}));
  WgmmaConfig pair = split;
  pair.cluster_m = 2;
  EXPECT_EQ(sum_sequence(split, {.splits = 3}), sum_sequence(pair, {.raster_width = 1, .splits = 3}));
}

TEST(SumOrder, IsTheSameForTensorCoresWhateverTheTile) {
  EXPECT_EQ(sum_sequence(WgmmaConfig{}, {}),
            sum_sequence(WgmmaConfig{.block_m = 64, .block_n = 64, .block_k = 128, .consumers = 1, .transposed = true},
                         {.programmatic = true}));
  EXPECT_EQ(sum_sequence(MmaConfig{}, {}), sum_sequence(MmaConfig{.block_k = 64, .fragment_buffers = 1}, {}));
  EXPECT_NE(sum_sequence(MmaConfig{}, {}), sum_sequence(WgmmaConfig{}, {}));
  EXPECT_NE(sum_sequence(MmaConfig{}, {}), sum_sequence(WmmaConfig{}, {}));
}

/// CUDA cores add zeros up to the end of a k-tile, and a zero makes negative zero positive.
TEST(SumOrder, OfCudaCoresDependsOnTheKTile) {
  EXPECT_EQ(sum_sequence(SimtConfig{.block_k = 16}, {}), sum_sequence(FmaConfig{.block_k = 16}, {}));
  EXPECT_NE(sum_sequence(SimtConfig{.block_k = 16}, {}), sum_sequence(SimtConfig{.block_k = 32}, {}));
  EXPECT_NE(sum_sequence(FmaConfig{.block_k = 16, .stages = 0}, {}), sum_sequence(FmaConfig{.block_k = 16}, {}));
  EXPECT_NE(sum_sequence(FmaConfig{.block_k = 16, .slices = 2}, {}), sum_sequence(FmaConfig{.block_k = 16}, {}));
}

// ---- every problem has kernels of the order that it demands ----

constexpr Types kSupportedTypes[] = {kF16, kBf16, kF32, uniform_types(DType::f16, ComputeType::f16)};

/// Calls visit(problem, arch) for a sample of the problems of every layout, type and mixture of alignment classes on
/// every architecture, with and without C, with `m` rows and no workspace.
template <class Visit>
void for_each_ordered_problem(SumOrder order, std::int64_t m, Visit&& visit) {
  std::size_t index = 0;
  for (const std::string& arch : known_archs()) {
    for (const Types& types : kSupportedTypes) {
      if (types.compute == ComputeType::f16 && !arch_limits(arch).has_cp_async) continue;  // has no kernels at all
      for (const Layout& layout : kLayouts) {
        for (const int align_a : {16, 8, 4, 2}) {
          for (const int align_bd : {16, 4, 2}) {
            if (!is_drawn(index++, 16)) continue;
            const Problem problem{
                .m = m, .n = 777, .k = 1000, .op_a = layout.op_a, .op_b = layout.op_b, .types = types, .order = order};
            visit(Workload(problem, {.align_a = align_a,
                                     .align_b = align_bd,
                                     .align_d = 18 - align_bd > 8 ? 2 : 16,
                                     .beta_is_zero = align_a > 4,
                                     .workspace = WorkspaceClass::none}),
                  arch);
          }
        }
      }
    }
  }
}

std::vector<Choice> without_workspace(const Workload& problem, const std::string& arch, const Database& database) {
  GpuQuery query;
  query.environment.arch = arch;
  return within_workspace(choose(problem, arch, database, query), problem, workspace_size, std::size_t{1} << 30)
      .choices;
}

TEST(SumOrder, EveryProblemHasABatchInvariantKernelWithoutWorkspace) {
  const Database database{DatabaseOptions{}};
  for (const std::int64_t m : {1, 100, 5000}) {
    for_each_ordered_problem(SumOrder::batch_invariant, m, [&](const Workload& problem, const std::string& arch) {
      const SumSequence wanted = invariant_sequence(problem.types, arch_limits(arch));
      const std::vector<Choice> choices = without_workspace(problem, arch, database);
      ASSERT_FALSE(choices.empty()) << to_string(problem) << " on " << arch;
      for (const Choice& c : choices) {
        ASSERT_EQ(sum_sequence(c.config, c.launch), wanted) << to_string(c) << " for " << to_string(problem) << arch;
      }
    });
  }
}

TEST(SumOrder, EveryProblemHasADeterministicKernelWithoutWorkspace) {
  const Database database{DatabaseOptions{}};
  for_each_ordered_problem(SumOrder::deterministic, 100, [&](const Workload& problem, const std::string& arch) {
    Workload any = problem;
    any.order = SumOrder::any;
    ASSERT_FALSE(without_workspace(problem, arch, database).empty()) << to_string(problem) << " on " << arch;
    ASSERT_EQ(without_workspace(problem, arch, database), without_workspace(any, arch, database));
  });
}

TEST(SumOrder, TheSearchTriesNoOtherOrder) {
  for (const char* text : {"100 4096 65536 nt f16 order=batch_invariant", "1 777 1000 tn bf16 order=batch_invariant",
                           "64 64 64 nn f32 order=batch_invariant"}) {
    for (const char* arch : {"sm_90a", "sm_89"}) {
      const Workload problem = parse_workload(text);
      const SumSequence wanted = invariant_sequence(problem.types, arch_limits(arch));
      const std::vector<Candidate> picked = pick_candidates(problem, nominal_device(arch), 32);
      EXPECT_GE(picked.size(), 4U) << text << " on " << arch;
      for (const Candidate& c : picked) {
        EXPECT_EQ(sum_sequence(c.config, c.launch), wanted) << to_string(c.config) << " for " << text;
        for (const LaunchConfig& launch : rasters(c.config, problem, 132, c.predicted_us)) {
          EXPECT_EQ(sum_sequence(c.config, launch), wanted) << to_string(c.config) << " " << to_string(launch);
        }
      }
    }
  }
}

TEST(SumOrder, RecordsOfAnyOrderAnswerIfTheirPickIsOfTheRightOne) {
  const auto origin = [](const KernelConfig& config, const char* problem) {
    Database database{DatabaseOptions{}};
    TuningRecord record = sample_record("4096 4096 4096 nt f16 align=16");
    record.config = config;
    record.launch = {3, true};
    database.add(record);
    GpuQuery query;
    query.environment.arch = "sm_90a";
    return choose(parse_workload(problem), "sm_90a", database, query).front().origin;
  };
  const char* deterministic = "4096 4096 4096 nt f16 order=deterministic align=16";
  const char* invariant = "4096 4096 4096 nt f16 order=batch_invariant align=16";
  EXPECT_EQ(origin(MmaConfig{}, deterministic), Origin::tuned);
  EXPECT_EQ(origin(WgmmaConfig{}, deterministic), Origin::tuned);
  EXPECT_EQ(origin(WgmmaConfig{}, invariant), Origin::tuned);
  EXPECT_EQ(origin(MmaConfig{}, invariant), Origin::estimated);
  EXPECT_EQ(origin(WgmmaConfig{}, "4096 3584 4096 nt f16 order=batch_invariant align=16"), Origin::nearest);
}

/// docs/sums.md lists them: of f16 and bf16 on Hopper only `wgmma` adds in the order of all alignments.
TEST(SumOrder, AProblemWithoutABatchInvariantKernelIsRefusedWithTheReason) {
  Database records{DatabaseOptions{}};  // of other orders: they must not hide the reason
  for (const char* text : {"4096 4096 4096 nt f16 groups=4 align=2,16,16", "4096 4100 4096 nn bf16 align=8"}) {
    TuningRecord record = sample_record(text);
    record.config = MmaConfig{};
    records.add(record);
  }
  const Database none{DatabaseOptions{}};
  for (const char* text :
       {"4096 4096 4096 nt f16 groups=4 align=2,16,16", "96 64 128 nt bf16 groups=4,masked align=16,8,16",
        "96 64 128 tn f16 groups=4,k align=16,2,16", "96 64 128 nt f16*f16>f32 batch=3,pointers align=2,2,4",
        "96 64 128 nt f16 batch=3,pointers epilogue=silu+gated align=2",
        "96 64 128 nn f16 batch=3,pointers epilogue=silu+gated align=16",
        "4096 4100 4096 nn bf16 epilogue=silu+gated align=8"}) {
    Workload problem = parse_workload(text);
    problem.order = SumOrder::batch_invariant;
    for (const Database* database : std::initializer_list<const Database*>{&none, &records}) {
      GpuQuery query;
      query.environment.arch = "sm_90a";
      std::string message;
      try {
        choose(problem, "sm_90a", *database, query);
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ErrorCode::not_supported);
        message = error.what();
      }
      EXPECT_THAT(message, testing::HasSubstr("on sm_90a in the order of sums")) << text;
      EXPECT_NO_THROW(choose(problem, "sm_80", *database, query)) << text;
    }
    EXPECT_THROW(pick_candidates(problem, nominal_device("sm_90a"), 8), Error) << text;
  }
}

TEST(SumOrder, WithoutWorkspaceTheOrderStays) {
  const Choice split{.config = WgmmaConfig{.split_k = true}, .launch = {.splits = 4}};
  const Choice copies{.config = WgmmaConfig{}, .launch = {.repack_a = Repack::aligned}};
  const Choice mma{.config = MmaConfig{}}, loads{.config = WgmmaConfig{.loaders = 2}};
  const std::vector<Choice> choices{split, copies, mma, loads};
  const WorkspaceOf workspace_of([](const KernelConfig& config, const LaunchConfig& launch, const Problem&) {
    return WorkspaceSize{.scratch_bytes = splits_k(config) || repacks(launch) ? 256U : 0U};
  });
  Workload problem = parse_workload("100 100 100 nt f16");
  EXPECT_EQ(*first_without_workspace(choices, split, problem, workspace_of), mma);
  EXPECT_EQ(*first_without_workspace(choices, copies, problem, workspace_of), mma);
  for (const SumOrder order : {SumOrder::deterministic, SumOrder::batch_invariant}) {
    problem.order = order;
    EXPECT_EQ(first_without_workspace(choices, split, problem, workspace_of), nullptr);
    EXPECT_EQ(*first_without_workspace(choices, copies, problem, workspace_of), loads);
  }
}

}  // namespace
}  // namespace hotgemm
