#include "config/function_source.hpp"

#include "base/sha256.hpp"
#include "config/class_key.hpp"
#include "config/render.hpp"
#include "config/supported.hpp"
#include "config/traits.hpp"
#include "emulate/host_function.hpp"
#include "unit/plan_fixture.hpp"

#include <hotgemm/error.hpp>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace hotgemm {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string file(const std::filesystem::path& path) {
  std::ifstream stream(std::filesystem::path(HOTGEMM_SOURCE_DIR) / path, std::ios::binary);
  EXPECT_TRUE(stream) << path;
  return {std::istreambuf_iterator<char>(stream), {}};
}

FunctionSource source_of(const char* path) { return {file(path), std::filesystem::path(path).filename().string()}; }

std::string complaint(std::string_view text) {
  try {
    FunctionSource(text, "f.txt");
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "none";
}

TEST(FunctionSource, NamesItsOperandsInTheirOrder) {
  const FunctionSource source(
      "// a comment, with a #\n\nscalar cap\n\tcolumn  scale \nrow left\nmatrix all\n cap * value", "f.txt");
  ASSERT_EQ(source.operands().size(), 4U);
  EXPECT_EQ(source.operands()[1].name, "scale");
  EXPECT_EQ(source.operands()[1].line, 4);
  EXPECT_EQ(source.function().operand(0), FunctionOperand::scalar);
  EXPECT_EQ(source.function().operand(1), FunctionOperand::column);
  EXPECT_EQ(source.function().operand(2), FunctionOperand::row);
  EXPECT_EQ(source.function().operand(3), FunctionOperand::matrix);
  EXPECT_EQ(FunctionSource("value", "f.txt").function().operand(0), FunctionOperand::none);
  EXPECT_THAT(source.header(), HasSubstr("#line 7 \"f.txt\"\n cap * value\n"));
}

TEST(FunctionSource, IsKnownByItsTextAlone) {
  const FunctionSource one("value * 2", "one.txt"), same("value * 2", "another.txt"), other("value * 3", "one.txt");
  EXPECT_EQ(one.function(), same.function());
  EXPECT_NE(one.function(), other.function());
  EXPECT_EQ(one.digest().substr(0, 12), to_string(one.function()).substr(0, 12));
  EXPECT_EQ(parse_function(to_string(one.function())), one.function());
  EXPECT_EQ(EpilogueFunction::of(one.function().number()), one.function());
  EXPECT_EQ(one.header_digest(), same.header_digest());
  EXPECT_NE(one.header_digest(), other.header_digest());
}

/// The text around the expression belongs to what is compiled.
TEST(FunctionSource, HasADigestOfItsWholeHeader) {
  EXPECT_EQ(FunctionSource("row a\na * value", "f.txt").header_digest(),
            to_hex(sha256(FunctionSource("row a\na * value", "").header())));
}

TEST(FunctionSource, SaysWhatIsWrongAndInWhichLine) {
  EXPECT_EQ(complaint(""), "f.txt(1): there is no expression, as in: 30 * tanh(value / 30)");
  EXPECT_THAT(complaint("// nothing\nscalar cap\n"), HasSubstr("f.txt(2): there is no expression"));
  EXPECT_THAT(complaint("value +\n#include <stdio.h>\n1"), HasSubstr("f.txt(2): a function has no preprocessor lines"));
  EXPECT_THAT(complaint("value +\n  %:include <stdio.h>\n1"), HasSubstr("f.txt(2): a function has no preprocessor"));
  EXPECT_THAT(complaint("value\n/*\n//*/ #include <stdio.h>\n"),
              HasSubstr("f.txt(2): a function has comments of lines"));
  EXPECT_THAT(complaint("scalar 2x\nvalue"), HasSubstr("f.txt(1): '2x' is not a name"));
  EXPECT_THAT(complaint("scalar row\nvalue"), HasSubstr("f.txt(1): 'row' is taken"));
  EXPECT_THAT(complaint("scalar a\nrow a\nvalue"), HasSubstr("f.txt(2): 'a' is taken"));
  EXPECT_THAT(complaint("row a\nrow b\nrow c\nrow d\nrow e\nvalue"), HasSubstr("f.txt(5): a function has at most 4"));
  EXPECT_THAT(complaint(std::string("value\n\0", 7)), HasSubstr("f.txt(2): there is a zero byte"));
  EXPECT_THAT(complaint(std::string(70000, ' ')), HasSubstr("more than 65536 bytes"));
  EXPECT_THROW(parse_function("0123"), Error);
  EXPECT_THROW(parse_function("0000000000000000"), Error);
  EXPECT_THROW(parse_function("0123456789AB0021"), Error);
  EXPECT_THROW(parse_function("0123456789ab0101"), Error) << "no third operand without a second";
  EXPECT_THROW(parse_function("0123456789ab0005"), Error) << "no such kind";
}

/// The emulated device runs these headers, so they are what NVRTC compiles.
TEST(FunctionSource, RendersWhatTheEmulatedDeviceRuns) {
  const char* const update = std::getenv("HOTGEMM_UPDATE_GOLDEN");
  for (const char* path :
       {"examples/softcap.txt", "src/emulate/functions/indices.txt", "src/emulate/functions/place.txt"}) {
    const FunctionSource source = source_of(path);
    const std::string golden = "src/emulate/functions/" + std::filesystem::path(path).stem().string() + ".cuh";
    if (update != nullptr && std::string(update) == "1") {
      std::ofstream(std::filesystem::path(HOTGEMM_SOURCE_DIR) / golden, std::ios::binary) << source.header();
      continue;
    }
    EXPECT_EQ(source.header(), file(golden)) << "HOTGEMM_UPDATE_GOLDEN=1 rewrites it";
  }
  EXPECT_EQ(to_string(source_of("examples/softcap.txt").function()), to_string(emulate::kSoftcap));
  EXPECT_EQ(to_string(source_of("src/emulate/functions/indices.txt").function()), to_string(emulate::kIndices));
  EXPECT_EQ(to_string(source_of("src/emulate/functions/place.txt").function()), to_string(emulate::kPlace));
}

class FunctionOfProblem : public testing::Test {
 protected:
  FunctionOfProblem() { problem_.epilogue.function = source_.function(); }

  const FunctionSource source_{"column scale\nvalue * scale", "f.txt"};
  TemplateBundle bundle_ = TemplateBundle::embedded();
  Workload problem_ = parse_workload("64 64 64 nt f16 epilogue=bias");
};

TEST_F(FunctionOfProblem, HasATextAndAClass) {
  const std::string text = to_string(problem_);
  EXPECT_THAT(text, HasSubstr("epilogue=bias+function:" + to_string(source_.function())));
  EXPECT_EQ(parse_workload(text), problem_);
  Workload other = problem_;
  other.epilogue.function = FunctionSource("value * 2", "f.txt").function();
  EXPECT_NE(class_key(problem_), class_key(other));
  EXPECT_NE(to_string(traits_of(problem_)), to_string(traits_of(other)));
  EXPECT_EQ(workload_of(class_key(problem_)).epilogue, problem_.epilogue);
  EXPECT_TRUE(is_supported(problem_));
  problem_.epilogue.activation = Activation::relu;
  EXPECT_FALSE(is_supported(problem_));
}

TEST_F(FunctionOfProblem, IsInTheIdentityByItsDigestAlone) {
  const KernelConfig config = *parse_config("simt_m64_n64_k16_tm4_tn4");
  const auto rendered = [&] { return render(config, traits_of(problem_), "sm_90a", bundle_); };
  EXPECT_THROW(rendered(), Error) << "its source was not added";
  bundle_.add(source_);
  bundle_.add(source_);
  const KernelSource kernel = rendered();
  EXPECT_EQ(kernel.function, source_.header());
  EXPECT_THAT(kernel.identity.text, HasSubstr("function:64=" + source_.header_digest()));
  EXPECT_THAT(kernel.identity.text, Not(HasSubstr("value * scale")));
  EXPECT_THAT(kernel.text, HasSubstr("#include \"epilogue_function.cuh\"\n"));
  EXPECT_THAT(kernel.text, HasSubstr("hotgemm::WithExtras<hotgemm::GemmArgs> args"));
  problem_.epilogue.function = {};
  EXPECT_EQ(rendered().function, "");
}

}  // namespace
}  // namespace hotgemm
