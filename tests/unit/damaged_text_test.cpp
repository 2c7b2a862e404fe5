// Random damage to valid texts: every parser returns a value, or throws Error with a documented code. What it returns
// has a text that it reads as the same value.

#include "base/text.hpp"
#include "config/epilogue_text.hpp"
#include "config/function_source.hpp"
#include "config/kernel_config.hpp"
#include "config/launch_config.hpp"
#include "config/m_range.hpp"
#include "config/problem_text.hpp"
#include "config/shapes.hpp"
#include "config/traits.hpp"
#include "records/rejection_log.hpp"
#include "records/trace.hpp"
#include "records/vetted_log.hpp"
#include "sweep_sample.hpp"
#include "unit/damage.hpp"
#include "unit/database_fixture.hpp"

#include <hotgemm/error.hpp>
#include <hotgemm/problem.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

constexpr int kTrials = 20000;

using Texts = std::vector<std::string>;

const Texts kProblems = {
    "4096 4096 512 nt f16",
    "1 128256 4096 nt bf16 ldd=128264 workspace=none",
    "77 768 768 tn bf16*bf16>f32 acc=f32 order=batch_invariant sms=120 align=16,8,4 beta=1",
    "64 64 131072 tt e4m3*e5m2>bf16 acc=f32,fast batch=12 lda=72 ldb=131080",
    "1024 4096 4096 nt bf16 epilogue=scale_a:vector+bias+gelu groups=8",
    "8192 28672 4096 nn f16 epilogue=swiglu+scale_d count=12 us=211.5",
};

/// Calls parse(text) for each damaged text. It may throw Error, but no other exception, and must not crash.
void expect_only_errors(const Texts& seeds, const std::function<void(const std::string&)>& parse) {
  Damage damage(seeds);
  int accepted = 0;
  for (int i = 0; i < trials(kTrials, 10); ++i) {
    const std::string text = damage.next();
    try {
      parse(text);
      ++accepted;
    } catch (const Error& error) {
      EXPECT_TRUE(error.code() == ErrorCode::invalid_argument || error.code() == ErrorCode::not_supported) << text;
      EXPECT_STRNE(error.what(), "");
    } catch (const std::exception& error) {
      FAIL() << text << ": " << error.what();
    }
    if (testing::Test::HasFailure()) return;
  }
  for (const std::string& seed : seeds) EXPECT_NO_THROW(parse(seed)) << seed;
  EXPECT_GT(accepted, 0) << "all damaged texts are refused: the damage is too great to reach far";
}

TEST(DamagedText, Workloads) {
  Texts seeds;
  for (const std::string& problem : kProblems) seeds.push_back(problem.substr(0, problem.find(" count=")));
  expect_only_errors(seeds, [](const std::string& text) {
    const Workload workload = parse_workload(text);
    ASSERT_EQ(parse_workload(to_string(workload)), workload) << text;
  });
}

TEST(DamagedText, ShapeFiles) {
  std::string lines = "# a comment\n";
  for (const std::string& problem : kProblems) lines += problem + "\n";
  expect_only_errors({lines, "m,n,k,layout,type\n16,4096,14336,nt,bf16\n1:64,4096,4096,nn,f16\n",
                      "Validator,PT_VERSION,2.11.0\nGemmTunableOp_BFloat16_TN,tn_4096_512_4096,Default,0.05\n"
                      "GemmAndBiasTunableOp_Half_TN,tn_64_8_32_ld_32_32_64,Gemm_Hipblaslt_1,0.01\n"},
                     [](const std::string& text) { parse_shapes(text, "file"); });
}

TEST(DamagedText, Words) {
  expect_only_errors({"4096x4096x512", "1 2 3"}, [](const std::string& text) { parse_sizes(text); });
  expect_only_errors({"1:64", "16:16", "129:1024"}, [](const std::string& text) { parse_m_range(text); });
  expect_only_errors({"512M", "8G", "4096", "1T"}, [](const std::string& text) { parse_size(text); });
  expect_only_errors({"bf16*bf16>f32", "e4m3", "s8*s8>s8"}, [](const std::string& text) {
    const Types types = parse_types(text);
    ASSERT_EQ(parse_types(to_string(types)), types) << text;
  });
  expect_only_errors({"scale_a:block_1x128+scale_b:block_128x128", "bias+gelu+residual+amax", "dgelu+bias_gradient:row",
                      "swiglu:interleaved+scale_d", "bias+aux:bits+relu"},
                     [](const std::string& text) {
                       const Epilogue epilogue = parse_epilogue(text);
                       ASSERT_EQ(parse_epilogue(epilogue_text(epilogue)), epilogue) << text;
                     });
}

TEST(DamagedText, ConfigsAndLaunches) {
  expect_only_errors(
      {"wgmma_m128_n256_k64_c2_sn0_pp0_o0_s4_cm2_cn1_b1", "wgmma_m16_n64_k128_c1_sn0_pp0_o0_s11_cm1_cn1_b1_t1_sk1",
       "mma_m64_n64_k64_wm2_wn2_s4_x1_f2_e1_b2", "fma_m128_n128_k8_tm8_tn8_s2_v4_p1_x1_a0_b1",
       "fma_m1_n32_k128_tm1_tn1_s4_v4_p0_x1_a1_b1_t0_sl8_q1", "simt_m64_n64_k8_tm4_tn4"},
      [](const std::string& text) {
        const auto config = parse_config(text);
        if (!config) throw Error(ErrorCode::invalid_argument, "no config");
        ASSERT_EQ(to_string(*config), text);
        // Sanitizers watch what damaged fields do.
        is_legal(*config, traits_of(parse_workload("64 64 64 nt f32")), arch_limits("sm_90a"));
      });
  expect_only_errors({"r8m", "r16mp_xat", "r1np_xab", "r2m_xbt"}, [](const std::string& text) {
    const auto launch = parse_launch(text);
    if (!launch) throw Error(ErrorCode::invalid_argument, "no launch");
    ASSERT_EQ(to_string(*launch), text);
  });
}

/// A damaged line gets the checksum of what it holds, so that the damage reaches the fields.
TEST(DamagedText, LinesOfLogs) {
  const Environment environment{.gpu = "NVIDIA H200", .driver = "13.0", .toolchain = "nvrtc-13.0-65be0db3"};
  const RejectionRecord rejected{.identity = std::string(64, 'a'),
                                 .config = "mma_m64_n64_k64_wm2_wn2_s4_x1_f2_e1_b2",
                                 .problem = "1 2 3 nt f16",
                                 .stage = "check",
                                 .reason = "wrong",
                                 .environment = environment,
                                 .time = 1700000000,
                                 .expires = 1700604800};
  const VettedKernel vetted{.kernel = std::string(64, 'b'), .gpu = "NVIDIA H200", .driver = "13.0"};
  const TraceSample sample{.problem = "1 2 3 nt f16", .config = "simt", .launch = "r1m", .us = 1.5};
  const Texts seeds = {to_line(rejected), to_line(vetted, 1700000000), to_line(TraceLine(sample)),
                       to_line(TraceLine(TraceHeader{.version = "0.1.0", .environment = environment}))};
  Damage damage(seeds);
  for (int i = 0; i < trials(kTrials, 10); ++i) {
    const std::string line = with_checksum(damage.next());
    EXPECT_NO_THROW({
      parse_rejection(line);
      parse_vetted(line);
      parse_trace(line);
    }) << line;
  }
  EXPECT_TRUE(parse_rejection(seeds[0]).record.has_value());
  EXPECT_TRUE(parse_vetted(seeds[1]).has_value());
  EXPECT_EQ(parse_trace(seeds[3] + "\n" + seeds[2] + "\n").lines.size(), 2u);
}

}  // namespace
}  // namespace hotgemm
