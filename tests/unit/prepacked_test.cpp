#include "config/prepacked.hpp"

#include "config/class_key.hpp"
#include "config/workspace.hpp"
#include "plan/model.hpp"
#include "records/problem_fields.hpp"
#include "shared/repack_args.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace hotgemm {
namespace {

constexpr Operand kBoth[] = {Operand::a, Operand::b};

Problem problem(const std::string& text) { return parse_problem(text); }

TEST(Prepacked, RowsAreThoseOfTheCopiesThatLaunchesMake) {
  struct Case {
    const char* problem;
    Operand operand;
    std::int64_t rows, ld;
  };
  for (const Case& c :
       {Case{"100 200 300 nn f16", Operand::a, 100, 320}, Case{"100 200 300 tn f16", Operand::a, 300, 128},
        Case{"100 200 300 nn bf16", Operand::b, 300, 256}, Case{"100 200 300 nt f16", Operand::b, 200, 320},
        Case{"1 13 1 nn f16", Operand::b, 1, 16}}) {
    const PrepackedSize size = prepacked_size(problem(c.problem), c.operand);
    EXPECT_EQ(size.ld, c.ld) << c.problem;
    EXPECT_EQ(size.bytes, (static_cast<std::size_t>(c.rows * c.ld) * 2 + 255) / 256 * 256) << c.problem;
  }
}

TEST(Prepacked, WeightsHaveOneFormForAllCalls) {
  EXPECT_EQ(prepacked_size(problem("0 999 333 nt f16"), Operand::b),
            prepacked_size(problem("77 999 333 nt f16"), Operand::b));
  EXPECT_EQ(prepacked_size(problem("999 1 333 tn f16"), Operand::a),
            prepacked_size(problem("999 8 333 tn f16"), Operand::a));
  EXPECT_EQ(prepacked_size(problem("9 999 333 nt f16 prepacked=ab"), Operand::b),
            prepacked_size(problem("9 999 333 nt f16"), Operand::b));
}

TEST(Prepacked, LargestMatricesHaveASize) {
  for (const char* text : {"2147482623 2147482623 2147482623 nn f16", "2147482623 2147482623 2147482623 tt bf16"}) {
    for (const Operand operand : kBoth) {
      const PrepackedSize size = prepacked_size(problem(text), operand);
      EXPECT_EQ(size.ld, 2147482624);
      EXPECT_EQ(size.bytes, std::size_t{2147482623} * 2147482624 * 2);
    }
  }
}

TEST(Prepacked, OtherElementsAndOperandsAreRefused) {
  const auto code_of = [](const char* text, Operand operand) {
    try {
      prepacked_size(problem(text), operand);
    } catch (const Error& error) {
      return std::string(to_string(error.code())) + ": " + error.what();
    }
    return std::string("nothing");
  };
  EXPECT_EQ(code_of("8 8 8 nn f32", Operand::a).find("not_supported: prepacked A of type f32"), 0u);
  EXPECT_EQ(code_of("8 8 8 nn f32", Operand::b).find("not_supported: prepacked B of type f32"), 0u);
  EXPECT_EQ(code_of("8 8 8 nn e4m3", Operand::b).find("not_supported: prepacked B of type e4m3"), 0u);
  EXPECT_EQ(code_of("8 8 8 nn f16", static_cast<Operand>(2)).find("invalid_argument: the operand is 2"), 0u);
}

TEST(Prepacked, HintsAreThoseOfAlignedRows) {
  const Workload b = parse_workload("1023 1023 1023 nn f16 prepacked=b");
  EXPECT_EQ(b.hints.align_a, 2);
  EXPECT_EQ(b.hints.align_b, 16);
  EXPECT_EQ(b.hints.align_d, 2);
  EXPECT_EQ(Workload(problem("1023 1023 1023 nn f16 prepacked=b")), b);
  EXPECT_EQ(parse_workload("1023 1023 1023 nn f16 prepacked=b align=2"), b) << "align does not lower it";
  EXPECT_EQ(parse_workload("1023 1023 1023 nn f16 lda=1023 prepacked=b"), b);
  EXPECT_THROW(parse_workload("1023 1023 1023 nn f16 ldb=1023 prepacked=b"), Error);
  EXPECT_THROW(parse_workload("1023 1023 1023 nn f16 lda=1024 prepacked=ab"), Error);
  EXPECT_EQ(parse_workload(to_string(b)), b);
}

TEST(Prepacked, ClassIsThatOfAlignedRows) {
  const Workload packed = parse_workload("100 1023 1023 nn f16 prepacked=b"),
                 aligned = parse_workload("100 1023 1023 nn f16 align=2,16,2");
  EXPECT_NE(packed, aligned);
  EXPECT_EQ(class_key(packed), class_key(aligned));
  EXPECT_EQ(class_of(packed), class_of(aligned));
  EXPECT_NE(class_key(packed), class_key(parse_workload("100 1023 1023 nn f16")));
}

TEST(Prepacked, LaunchesRepackTheOtherOperandOnly) {
  const WgmmaConfig config;
  for (const auto& [text, launch] : {std::pair("100 1023 1023 nn f16 prepacked=b", "r8m_xa"),
                                     std::pair("100 1023 1023 nn f16 prepacked=a", "r8m_xb"),
                                     std::pair("100 1023 1023 nn f16 prepacked=ab", "r8m")}) {
    const Workload packed = parse_workload(text);
    const LaunchConfig repacks = with_repacks({}, config, packed);
    EXPECT_EQ(to_string(repacks), launch) << text;
    EXPECT_EQ(workspace_size(config, repacks, packed).scratch_bytes, repacked_bytes(repacks, packed)) << text;
  }
  const auto predicted = [&](const char* text) {
    return predict_us(config, parse_workload(text), nominal_device("sm_90a"));
  };
  EXPECT_LT(predicted("1023 1023 1023 nn f16 prepacked=ab"), predicted("1023 1023 1023 nn f16 prepacked=b"));
  EXPECT_LT(predicted("1023 1023 1023 nn f16 prepacked=b"), predicted("1023 1023 1023 nn f16"));
}

TEST(Prepacked, OriginalHasRowsWithoutGaps) {
  EXPECT_EQ(before_packing(parse_workload("1023 1022 1020 nt f16 prepacked=b")),
            parse_workload("1023 1022 1020 nt f16"));
  EXPECT_EQ(before_packing(parse_workload("64 63 62 nn f16 prepacked=b align=16,16,4")),
            parse_workload("64 63 62 nn f16 align=16,2,4"));
  const Workload plain = parse_workload("64 63 62 nn f16 align=16,8,4");
  EXPECT_EQ(before_packing(plain), plain);
}

}  // namespace
}  // namespace hotgemm
