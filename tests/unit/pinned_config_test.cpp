#include "plan/pinned_config.hpp"

#include "config/class_key.hpp"
#include "config/device_info.hpp"
#include "config/repack.hpp"
#include "config/workspace.hpp"
#include "tune/candidate.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hotgemm {
namespace {

constexpr std::size_t kCap = std::size_t{1} << 30;

Choice pinned_on_hopper(const Workload& problem, const PinnedConfig& pinned, std::size_t cap_bytes = kCap) {
  return pinned_choice(problem, pinned, "sm_90a", 132, workspace_size, cap_bytes);
}

/// The reason why `pinned` is refused; empty if it is not.
std::string refusal_of(const Workload& problem, const PinnedConfig& pinned, std::size_t cap_bytes = kCap) {
  try {
    pinned_on_hopper(problem, pinned, cap_bytes);
    return {};
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::not_supported);
    return error.what();
  }
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

TEST(PinnedConfig, IsTheNamedOneWithALaunch) {
  const Workload problem = parse_workload("4096 4096 512 nt f16 align=16");
  const PinnedConfig pinned = parse_pinned(to_string(KernelConfig(MmaConfig{})), "r4n");
  const Choice choice = pinned_on_hopper(problem, pinned);
  EXPECT_EQ(choice.config, KernelConfig(MmaConfig{}));
  EXPECT_EQ(to_string(choice.launch), "r4n");
  EXPECT_EQ(choice.origin, Origin::pinned);
  EXPECT_EQ(pinned_on_hopper(problem, {MmaConfig{}, std::nullopt}).config, choice.config);
  EXPECT_THROW(parse_pinned("mma_m0", ""), Error);
  EXPECT_THROW(parse_pinned(to_string(KernelConfig(MmaConfig{})), "r4q"), Error);
}

TEST(PinnedConfig, RepacksWhatItCannotRead) {
  const Workload ragged = parse_workload("4096 4096 512 nt f16 align=2");
  const PinnedConfig pinned{WgmmaConfig{}, LaunchConfig{}};
  const Choice choice = pinned_on_hopper(ragged, pinned);
  EXPECT_TRUE(choice.launch.repack_a == Repack::aligned && choice.launch.repack_b == Repack::aligned);
  EXPECT_TRUE(has(refusal_of(ragged, pinned, 0), "the cap is 0"));
  Workload none = ragged;
  none.hints.workspace = WorkspaceClass::none;
  EXPECT_TRUE(has(refusal_of(none, pinned), "the cap is 0"));
  EXPECT_FALSE(repacks(pinned_on_hopper(parse_workload("4096 4096 512 nt f16 align=16"), pinned).launch));
}

TEST(PinnedConfig, ObeysTheRulesOfTheProblem) {
  EXPECT_TRUE(has(refusal_of(parse_workload("64 64 64 nn f32"), {WgmmaConfig{}, std::nullopt}), "sm_90a"));
  EXPECT_TRUE(has(refusal_of(parse_workload("4096 4096 512 nt f16 align=16"), {MmaConfig{}, LaunchConfig{.splits = 2}}),
                  "cannot be launched as"));
  EXPECT_TRUE(has(refusal_of(parse_workload("4096 4096 512 nt f16 align=16 sms=4"), {MmaConfig{}, std::nullopt}),
                  "the SM limit"));
  MmaConfig nothing;
  nothing.block_m = 0;
  EXPECT_NE(refusal_of(parse_workload("64 64 64 nt f16 align=16"), {nothing, std::nullopt}), "");
}

TEST(PinnedConfig, ServesTheLargestMOfTheClass) {
  const Workload problem = parse_workload("524289 64000000 64 nt f16 align=16");
  ASSERT_GT(with_largest_sizes(problem).m, 550000);  // has more tiles than a grid has blocks
  EXPECT_TRUE(has(refusal_of(problem, {MmaConfig{}, std::nullopt}), "too large"));
  EXPECT_EQ(refusal_of(parse_workload("524288 64000000 64 nt f16 align=16"), {MmaConfig{}, std::nullopt}), "");
}

}  // namespace
}  // namespace hotgemm
