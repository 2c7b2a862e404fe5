// Functions of users in epilogues, from the source to the launch.

#include "standin/runtime_fixture.hpp"

#include "config/function_source.hpp"
#include "emulate/host_function.hpp"

#include <hotgemm/hotgemm.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

namespace hotgemm::standin {
namespace {

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(std::filesystem::path(HOTGEMM_SOURCE_DIR) / path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class FunctionTest : public RuntimeTest {
 protected:
  void add_all() {
    EXPECT_EQ(context().add_function(text_of("examples/softcap.txt"), "softcap.txt"), emulate::kSoftcap);
    EXPECT_EQ(context().add_function(text_of("src/emulate/functions/indices.txt")), emulate::kIndices);
  }
};

GemmCase case_of(const char* types, const Epilogue& epilogue, float beta) {
  GemmCase c = small_case(13, 21, 35, beta);
  c.problem.types = parse_types(types);
  c.problem.op_b = Op::t;
  c.problem.epilogue = epilogue;
  c.set_tight_ld(1);
  return c;
}

TEST_F(FunctionTest, RunsAloneAndInAChain) {
  context(Policy::estimate);
  add_all();
  const Epilogue chain{.scale_b = Scaling::vector,
                       .bias = Bias::per_column,
                       .aux = true,
                       .residual = true,
                       .scale_d = true,
                       .function = emulate::kIndices};
  for (const char* types : {"bf16", "f32", "f16*f16>f32", "e4m3"}) {
    expect_right(context(), case_of(types, {.function = emulate::kSoftcap}, 0), stream());
    expect_right(context(), case_of(types, chain, -1.0f), stream());
  }
  GemmCase c = case_of("f16", chain, -1.0f);
  c.problem.m = 300, c.problem.n = 264, c.problem.k = 128;
  c.set_tight_ld(8);
  EXPECT_THAT(context().plan(c.described()).config(), testing::StartsWith("wgmma_"));
  expect_right(context(), c, stream());
}

TEST_F(FunctionTest, APrewarmedKernelServesAProcessThatKnowsTheSource) {
  const GemmCase c = case_of("bf16", {.bias = Bias::per_column, .function = emulate::kSoftcap}, 0);
  context(Policy::estimate);
  expect_thrown(ErrorCode::invalid_argument, {"4c6b5b4fc29f0013 is not known", "add_function"},
                [&] { context().plan(c.described()); });
  add_all();
  const PrewarmReport report = context().prewarm(std::vector{c.described()}, {.archs = {"sm_90a"}});
  EXPECT_EQ(report.failed, 0);
  forget_context();
  context(Policy::cached_only);
  add_all();
  expect_right(context(), c, stream());
}

TEST_F(FunctionTest, AnErrorOfTheCompilerIsTheUsersLine) {
  context(Policy::estimate);
  Workload problem = parse_workload("64 64 64 nt bf16");
  problem.epilogue.function = context().add_function("scalar cap\nvalue *\n  tap\n", "mine.txt");
  expect_thrown(ErrorCode::compile_failed, {"mine.txt(3): error", "\"tap\" is undefined"},
                [&] { context().plan(problem); });
  const PrewarmReport report = context().prewarm(std::vector{problem}, {.archs = {"sm_80"}});
  ASSERT_EQ(report.entries.size(), 1U);
  EXPECT_THAT(report.entries[0].failure, testing::HasSubstr("mine.txt(3): error"));
  expect_thrown(ErrorCode::invalid_argument, {"mine.txt(2): a function has no preprocessor lines"},
                [&] { context().add_function("value +\n#include \"x\"", "mine.txt"); });
}

TEST_F(FunctionTest, WrongOperandsAreNamed) {
  context(Policy::estimate);
  add_all();
  const GemmCase c = case_of("bf16", {.function = emulate::kSoftcap}, 0);
  RefusedCalls expect_refused(context(), c, stream());
  expect_refused(c.problem, {"function_operands[1] is null", "epilogue"},
                 [](Operands& o) { o.function_operands[1] = nullptr; });
  expect_refused(c.problem, {"function_operands[0] is not aligned"}, [](Operands& o) {
    o.function_operands[0] =
        reinterpret_cast<const float*>(reinterpret_cast<std::uintptr_t>(o.function_operands[0]) + 1);
  });
  expect_refused(c.problem, {"field function_operands[2] is set", "no part of the problem uses it"},
                 [](Operands& o) { o.function_operands[2] = o.function_operands[0]; });
  expect_refused(c.problem, {"field ld_function_operands[0] is set"},
                 [](Operands& o) { o.ld_function_operands[0] = 21; });
  Problem other = c.problem;
  other.epilogue.function = {};
  expect_refused(other, {"field function_operands[0] is set"}, [](Operands&) {});
  other = c.problem;
  other.epilogue.activation = Activation::relu;
  expect_refused(other, {"the activation relu and a function"}, [](Operands&) {});
  other = c.problem;
  other.epilogue.function.operands = 0x0501;
  expect_refused(other, {"is none that Context::add_function makes"}, [](Operands&) {});
  Problem integers = parse_problem("64 64 64 nt s8");
  integers.epilogue.function = emulate::kSoftcap;
  expect_thrown(ErrorCode::not_supported, {"epilogue with D of type s32"}, [&] { context().plan(Workload(integers)); });
}

TEST_F(FunctionTest, WrongMatricesAreNamed) {
  context(Policy::estimate);
  add_all();
  const GemmCase c = case_of("bf16", {.function = emulate::kIndices}, 0);
  RefusedCalls expect_refused(context(), c, stream());
  expect_refused(c.problem, {"function_operands[3] is null"}, [](Operands& o) { o.function_operands[3] = nullptr; });
  expect_refused(c.problem, {"ld_function_operands[3] is 20", "21"},
                 [](Operands& o) { o.ld_function_operands[3] = 20; });
  expect_refused(c.problem, {"function_operands[3] and D are the same", "ld_function_operands[3] 22, ldd 21"},
                 [](Operands& o) {
                   o.function_operands[3] = o.d;
                   o.ld_function_operands[3] = o.ldd + 1;
                 });
  Problem batch = c.problem;
  batch.batch = 2;
  expect_refused(batch, {"batch_stride_function_operands[3] is negative"}, [](Operands& o) {
    o.batch_stride_d = o.ldd * 13;
    o.batch_stride_function_operands[3] = -1;
  });
  Operands operands = expect_refused.operands();
  const auto alignment = [&] { return describe(c.problem, operands).hints.align_d; };
  operands.d = reinterpret_cast<void*>(std::uintptr_t{4096});
  operands.function_operands[3] = operands.d;
  operands.ldd = operands.ld_function_operands[3] = 64;
  EXPECT_EQ(alignment(), 16);
  operands.ld_function_operands[3] = 66;
  EXPECT_EQ(alignment(), 4);
  operands.ld_function_operands[3] = 64, operands.batch_stride_function_operands[3] = 4098;
  EXPECT_EQ(describe(batch, operands).hints.align_d, 4) << "in a batch the distance counts too";
}

TEST_F(FunctionTest, CHasItToo) {
  hotgemm_context* context = nullptr;
  ASSERT_EQ(hotgemm_context_create(nullptr, 0, &context), HOTGEMM_SUCCESS);
  hotgemm_problem problem = HOTGEMM_PROBLEM_INIT;
  const std::string source = text_of("examples/softcap.txt");
  EXPECT_EQ(hotgemm_add_function(context, source.c_str(), nullptr, &problem.function), HOTGEMM_SUCCESS);
  EXPECT_EQ(problem.function, emulate::kSoftcap.number());
  char text[200] = "";
  EXPECT_EQ(hotgemm_problem_text(&problem, nullptr, text, sizeof text, nullptr), HOTGEMM_SUCCESS);
  EXPECT_THAT(std::string(text), testing::HasSubstr("epilogue=function:4c6b5b4fc29f0013"));
  hotgemm_problem parsed = HOTGEMM_PROBLEM_INIT;
  EXPECT_EQ(hotgemm_problem_parse("8 8 8 nt f16 epilogue=function:4c6b5b4fc29f0013", &parsed), HOTGEMM_SUCCESS);
  EXPECT_EQ(parsed.function, problem.function);
  EXPECT_EQ(hotgemm_add_function(context, "scalar row\nvalue", "mine.txt", &problem.function),
            HOTGEMM_INVALID_ARGUMENT);
  std::string message(200, '\0');
  hotgemm_last_error(message.data(), message.size());
  EXPECT_THAT(message, testing::HasSubstr("mine.txt(1): 'row' is taken"));
  hotgemm_context_destroy(context);
}

}  // namespace
}  // namespace hotgemm::standin
