#include <hotgemm/error.hpp>
#include <hotgemm/types.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {
namespace {

/// The message of the error that parse_problem(text) throws, or "" if it throws none.
std::string error_of(std::string_view text) {
  try {
    parse_problem(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << text;
    return error.what();
  }
  return {};
}

TEST(Problem, PrintsAsDocumented) {
  Problem problem;
  problem.m = 4096;
  problem.n = 4096;
  problem.k = 512;
  problem.op_b = Op::t;
  EXPECT_EQ(to_string(problem), "4096x4096x512 nt f16 f32 a16 b16 d16 beta0");
  problem.dtype = DType::bf16;
  problem.op_a = Op::t;
  problem.op_b = Op::n;
  problem.align_a = 2;
  problem.align_b = 4;
  problem.align_d = 8;
  problem.beta_is_zero = false;
  EXPECT_EQ(to_string(problem), "4096x4096x512 tn bf16 f32 a2 b4 d8 beta1");
}

TEST(Problem, TextRoundTrips) {
  std::mt19937 random(1);
  const auto pick = [&](auto values) { return values[random() % values.size()]; };
  for (int i = 0; i < 2000; ++i) {
    Problem p;
    p.m = static_cast<std::int64_t>(random() % 2147483648u);
    p.n = static_cast<std::int64_t>(random() % 70000u);
    p.k = static_cast<std::int64_t>(random() % 3u);
    p.op_a = pick(std::vector{Op::n, Op::t});
    p.op_b = pick(std::vector{Op::n, Op::t});
    p.dtype = pick(std::vector{DType::f16, DType::bf16, DType::f32});
    p.accumulator = p.dtype == DType::f16 ? pick(std::vector{DType::f16, DType::f32}) : DType::f32;
    const std::vector<int> alignments = p.dtype == DType::f32 ? std::vector{4, 8, 16} : std::vector{2, 4, 8, 16};
    p.align_a = pick(alignments);
    p.align_b = pick(alignments);
    p.align_d = pick(alignments);
    p.beta_is_zero = pick(std::vector<char>{0, 1}) != 0;
    EXPECT_EQ(parse_problem(to_string(p)), p) << to_string(p);
  }
}

TEST(Problem, AttributesMayBeLeftOut) {
  Problem expected = parse_problem("16x32x64 tt bf16 f32 a16 b16 d16 beta0");
  EXPECT_EQ(parse_problem("16x32x64 tt bf16 f32"), expected);
  EXPECT_EQ(parse_problem("  16x32x64\ttt bf16  f32 "), expected);
  expected.align_b = 4;
  EXPECT_EQ(parse_problem("16x32x64 tt bf16 f32 b4"), expected);
  expected.beta_is_zero = false;
  EXPECT_EQ(parse_problem("16x32x64 tt bf16 f32 b4 beta1"), expected);
}

TEST(Problem, ErrorsNameTheOffendingText) {
  const struct {
    const char* text;
    const char* named;
  } cases[] = {
      {"", "''"},
      {"4096x4096x512", "'4096x4096x512'"},
      {"4096x4096 nt f16 f32", "'4096x4096'"},
      {"1x2x3x4 nt f16 f32", "'1x2x3x4'"},
      {"axbxc nt f16 f32", "m is 'a'"},
      {"1x-2x3 nt f16 f32", "n is '-2': a size cannot be negative"},
      {"1x2x nt f16 f32", "k is ''"},
      {"1x2x+3 nt f16 f32", "k is '+3'"},
      {"1x2x0x10 nt f16 f32", "'1x2x0x10'"},
      {"1x2.5x3 nt f16 f32", "n is '2.5'"},
      {"2147483648x2x3 nt f16 f32", "m is '2147483648': the largest"},
      {"2147482624x2x3 nt f16 f32", "m is '2147482624': the largest size is 2147482623"},
      {"1x2x99999999999999999999 nt f16 f32", "k is '99999999999999999999': the largest"},
      {"1x2x3 no f16 f32", "'no'"},
      {"1x2x3 NT f16 f32", "'NT'"},
      {"1x2x3 nt f8 f32", "'f8'"},
      {"1x2x3 nt f16 f64", "'f64'"},
      {"1x2x3 nt bf16 f16", "accumulator is 'f16'"},
      {"1x2x3 nt bf16 bf16", "accumulator is 'bf16'"},
      {"1x2x3 nt f16 f32 a3", "'a3'"},
      {"1x2x3 nt f16 f32 a32", "'a32'"},
      {"1x2x3 nt f16 f32 a016", "'a016'"},
      {"1x2x3 nt f32 f32 a2", "'a2'"},
      {"1x2x3 nt f16 f32 b8 a8", "'a8'"},
      {"1x2x3 nt f16 f32 a8 a8", "'a8'"},
      {"1x2x3 nt f16 f32 beta2", "'beta2'"},
      {"1x2x3 nt f16 f32 beta0 d8", "'d8'"},
      {"1x2x3 nt f16 f32 c8", "'c8'"},
      {"1x2x3 nt f16 f32 a16 b16 d16 beta0 x", "'x'"},
      {"1x2x3 nt f\x01\xff f32", "'f?\?'"},
  };
  for (const auto& c : cases) {
    const std::string message = error_of(c.text);
    EXPECT_NE(message.find(c.named), std::string::npos) << c.text << " gave: " << message;
  }
}

TEST(Problem, ExtremeSizesAreAccepted) {
  EXPECT_EQ(parse_problem("0x2147482623x1 nn f16 f32").n, 2147482623);
  EXPECT_EQ(parse_problem("0x2147482623x1 nn f16 f32").m, 0);
}

TEST(Problem, EnumerationsRoundTrip) {
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) EXPECT_EQ(parse_dtype(to_string(dtype)), dtype);
  for (const Op op : {Op::n, Op::t}) EXPECT_EQ(parse_op(to_string(op)), op);
  EXPECT_THROW(parse_op("c"), Error);
  EXPECT_THROW(parse_dtype("half"), Error);
}

TEST(ErrorCode, EveryCodeHasAName) {
  std::set<std::string_view> names;
  for (int code = 0; code <= static_cast<int>(ErrorCode::internal); ++code) {
    names.insert(to_string(static_cast<ErrorCode>(code)));
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(ErrorCode::internal) + 1);
  EXPECT_EQ(names.count("unknown"), 0u);
  EXPECT_EQ(to_string(ErrorCode::io_error), "io_error");
}

TEST(ClassM, FirstBucketsAsDocumented) {
  std::set<std::int64_t> buckets;
  for (std::int64_t m = 1; m <= 256; ++m) buckets.insert(class_m(m));
  EXPECT_EQ(buckets, (std::set<std::int64_t>{1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 160, 192, 224, 256}));
}

TEST(ClassM, HoldsIsMonotoneAndIdempotent) {
  for (std::int64_t m = 1; m <= 100000; ++m) {
    const std::int64_t bucket = class_m(m);
    ASSERT_GE(bucket, m);
    ASSERT_LE(class_m(m - 1), bucket);
    ASSERT_EQ(class_m(bucket), bucket);
    if (m > 128) {
      ASSERT_LE(static_cast<double>(bucket), static_cast<double>(m) * 1.25);
    } else {
      ASSERT_LE(bucket - m, m < 8 ? m : m <= 32 ? 8 : 32);
    }
  }
}

TEST(ClassM, About35BucketsUpTo8192) {
  std::set<std::int64_t> buckets;
  for (std::int64_t m = 1; m <= 8192; ++m) buckets.insert(class_m(m));
  EXPECT_EQ(buckets.size(), 35u);
}

TEST(ClassM, EndsOfTheRange) {
  constexpr std::int64_t kLargest = 2147482623;  // 2^31 - 1 less the 1024 that a tile may reach beyond a matrix
  constexpr std::int64_t kLastStep = std::int64_t{7} << 28;
  EXPECT_EQ(class_m(0), 1);
  EXPECT_EQ(class_m(kLastStep), kLastStep);
  // 2^31 would be next, which is no size.
  EXPECT_EQ(class_m(kLastStep + 1), kLargest);
  EXPECT_EQ(class_m(kLargest - 1), kLargest);
  EXPECT_EQ(class_m(kLargest), kLargest);
}

TEST(ClassM, NeverLeavesTheRange) {
  constexpr std::int64_t kLargest = 2147482623;
  for (const std::int64_t m :
       {kLargest + 1, std::int64_t{1} << 31, std::int64_t{1} << 62, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_EQ(class_m(m), kLargest) << "sizes that are refused elsewhere";
  }
  std::mt19937_64 random(7);
  for (int i = 0; i < 100000; ++i) {
    const auto m =
        1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(kLargest)) % (kLargest >> i % 24);
    const std::int64_t bucket = class_m(m);
    ASSERT_GE(bucket, m);
    ASSERT_LE(bucket, kLargest);
    ASSERT_LE(class_m(m - 1), bucket);
    ASSERT_EQ(class_m(bucket), bucket) << m;
  }
}

}  // namespace
}  // namespace hotgemm
