#include "worker/measure_record.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hotgemm {
namespace {

const Cubin kCubin{.image = {0x7f, 'E', 'L', 'F', 0, 0xff},
                   .symbol = "hotgemm_x",
                   .arch = "sm_90a",
                   .toolchain = "nvrtc-13.0-abc",
                   .registers = 128,
                   .spill_bytes = 4,
                   .static_smem_bytes = 16,
                   .compile_ms = 12.5};

std::vector<Trial> some_trials() {
  const auto cubin = std::make_shared<const Cubin>(kCubin);
  return {{MmaConfig{}, {4, true}, cubin}, {SimtConfig{}, {8, false}, cubin}};
}

Cubins held() { return {{kCubin.symbol, std::make_shared<const Cubin>(kCubin)}}; }

void expect_same(const std::vector<Trial>& trials) {
  const std::vector<Trial> expected = some_trials();
  ASSERT_EQ(trials.size(), expected.size());
  for (std::size_t i = 0; i < trials.size(); ++i) {
    EXPECT_EQ(trials[i].config, expected[i].config);
    EXPECT_EQ(trials[i].launch, expected[i].launch);
    EXPECT_EQ(*trials[i].cubin, kCubin);
  }
}

TEST(MeasureRecordTest, RequestsArriveAsTheyWere) {
  const Workload problem({.m = 3, .n = 5, .k = 7, .op_b = Op::t},
                         {.align_a = 2, .align_b = 16, .align_d = 16, .beta_is_zero = false});
  for (const auto deadline : {std::chrono::steady_clock::time_point::max(), std::chrono::steady_clock::now()}) {
    const BeginRequest begin = decode_begin(encode_begin(problem, {12345678901, 77, true, deadline}).body);
    EXPECT_EQ(begin.problem, problem);
    EXPECT_EQ(begin.options.scratch_bytes, 12345678901);
    EXPECT_EQ(begin.options.seed, 77u);
    EXPECT_TRUE(begin.options.with_baseline);
    EXPECT_EQ(begin.options.deadline, deadline);  // else the worker waits 20 s for a GPU that is busy
  }

  EXPECT_EQ(decode_cubin(encode_cubin(kCubin).body), kCubin);

  const CheckRequest check = decode_check(encode_check(some_trials(), 9).body, held());
  EXPECT_EQ(check.seed, 9u);
  expect_same(check.trials);
}

TEST(MeasureRecordTest, ARaceArrivesAsItWas) {
  RaceOptions options;
  options.mode = TimingMode::graph;
  options.rounds = 5;
  options.round_us = 250;
  options.warm_up_us = 125;
  options.max_launches = 99;
  options.seed = 3;
  options.abandon_ratio = 1.5;
  for (const auto deadline : {std::chrono::steady_clock::time_point::max(), std::chrono::steady_clock::now()}) {
    options.deadline = deadline;
    const RaceRequest race = decode_race(encode_race(some_trials(), options, true).body, held());
    EXPECT_EQ(race.options.mode, TimingMode::graph);
    EXPECT_EQ(race.options.rounds, 5);
    EXPECT_EQ(race.options.round_us, 250);
    EXPECT_EQ(race.options.warm_up_us, 125);
    EXPECT_EQ(race.options.max_launches, 99);
    EXPECT_EQ(race.options.seed, 3u);
    EXPECT_EQ(race.options.abandon_ratio, 1.5);
    EXPECT_EQ(race.options.deadline, deadline);
    EXPECT_TRUE(race.with_baseline);
    expect_same(race.trials);
  }
}

TEST(MeasureRecordTest, BlocksArriveAsTheyWere) {
  RaceOptions options;
  EXPECT_FALSE(decode_race(encode_race(some_trials(), options, false).body, held()).options.blocks);
  options.blocks = BlockLengths{.load_s = 3, .settle_s = 0.25, .counted_s = 0.5};
  EXPECT_EQ(decode_race(encode_race(some_trials(), options, false).body, held()).options.blocks, options.blocks);

  BlockReport sent{.clock = {.mhz = 1395, .watts = 688.5, .samples = 40, .power_cap_share = 0.9, .other_share = 0.1},
                   .unsteady = 2};
  sent.clock.reasons = 0x24;
  const Reply reply = encode_blocks(3, sent, 700);
  EXPECT_TRUE(reply.is_intact());
  EXPECT_EQ(reply.trial, 3);
  BlockReport arrived;
  double power_limit_w = 0;
  decode_blocks(reply, arrived, power_limit_w);
  EXPECT_EQ(arrived.clock.mhz, 1395);
  EXPECT_EQ(arrived.clock.watts, 688.5);
  EXPECT_EQ(arrived.clock.samples, 40);
  EXPECT_EQ(arrived.clock.power_cap_share, 0.9);
  EXPECT_EQ(arrived.clock.other_share, 0.1);
  EXPECT_EQ(arrived.clock.reasons, 0x24u);
  EXPECT_EQ(arrived.unsteady, 2);
  EXPECT_EQ(power_limit_w, 700);
}

TEST(MeasureRecordTest, FactsArriveAsTheyWere) {
  GpuFacts facts;
  facts.info = {"sm_90a", "NVIDIA H200", 132, 62914560, 150 << 20, 1980, 4800};
  facts.environment = {"NVIDIA H200", "sm_90a", 132, "13.0", ""};
  facts.free_bytes = 149'000'000'000;
  facts.power_limit_w = 650.5;
  facts.reports_power = true;
  const GpuFacts arrived = decode_facts(encode_facts(facts));
  EXPECT_EQ(arrived.info, facts.info);
  EXPECT_EQ(arrived.environment, facts.environment);
  EXPECT_EQ(arrived.free_bytes, facts.free_bytes);
  EXPECT_EQ(arrived.power_limit_w, facts.power_limit_w);
  EXPECT_TRUE(arrived.reports_power);
}

TEST(MeasureRecordTest, AComparisonWithCublasArrivesAsItWas) {
  const Trial pick = some_trials().front();
  const CublasQuestion question{TimingMode::graph, Measure::sustained, Objective::energy, CublasScope::default_only};
  const CompareRequest request = decode_compare(encode_compare(pick, question).body, held());
  EXPECT_EQ(request.pick.config, pick.config);
  EXPECT_EQ(request.pick.launch, pick.launch);
  EXPECT_EQ(request.question.mode, question.mode);
  EXPECT_EQ(request.question.measure, question.measure);
  EXPECT_EQ(request.question.objective, question.objective);
  EXPECT_EQ(request.question.scope, question.scope);
  EXPECT_THROW(decode_compare(encode_compare(pick, question).body, {}), Error);
  const CublasComparison comparison{"13.1.0", std::string(128, 'a'), 0.97, 0.9};
  const Reply reply = encode_comparison(comparison);
  EXPECT_TRUE(reply.is_intact());
  EXPECT_EQ(decode_comparison(reply), comparison);
}

TEST(MeasureRecordTest, ErrorsKeepCodeAndMessage) {
  const Error error = decode_error(encode_error(ReplyKind::error, ErrorCode::out_of_memory, "too large"));
  EXPECT_EQ(error.code(), ErrorCode::out_of_memory);
  EXPECT_STREQ(error.what(), "too large");
  Reply odd = encode_error(ReplyKind::error, ErrorCode::internal, "");
  odd.code = 12345;
  EXPECT_EQ(decode_error(odd).code(), ErrorCode::internal);
}

TEST(MeasureRecordTest, WhatIsTooShortOrUnknownIsRefused) {
  const Request check = encode_check(some_trials(), 9);
  for (std::size_t bytes = 0; bytes < check.body.size(); ++bytes) {
    EXPECT_THROW(decode_check(std::span(check.body).first(bytes), held()), Error) << bytes;
  }
  EXPECT_THROW(decode_check(check.body, {}), Error);
}

TEST(MeasureRecordTest, LongTextIsCut) {
  Reply reply;
  reply.set_text(std::string(5000, 'x'));
  EXPECT_EQ(reply.text(), std::string(reply.text_buffer.size(), 'x'));
  reply.set_text("short");
  EXPECT_EQ(reply.text(), "short");
}

TEST(MeasureRecordTest, DamageIsSeen) {
  EXPECT_TRUE(Reply().is_intact());
  Reply reply;
  reply.magic ^= 1;
  EXPECT_FALSE(reply.is_intact());
  reply = {};
  reply.text_bytes = 5000;
  EXPECT_FALSE(reply.is_intact());
  reply = {};
  reply.stage = 99;
  EXPECT_FALSE(reply.is_intact());
  reply = {};
  reply.kind = static_cast<ReplyKind>(99);
  EXPECT_FALSE(reply.is_intact());
}

}  // namespace
}  // namespace hotgemm
