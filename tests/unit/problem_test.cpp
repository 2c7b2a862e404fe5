#include <hotgemm/error.hpp>
#include <hotgemm/types.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

/// The message of the error that parse_workload(text) throws, or "" if it throws none.
std::string error_of(std::string_view text) {
  try {
    parse_workload(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument) << text;
    return error.what();
  }
  return {};
}

TEST(Problem, PrintsAsDocumented) {
  Workload w(Problem{.m = 4096, .n = 4096, .k = 512, .op_b = Op::t});
  EXPECT_EQ(to_string(static_cast<const Problem&>(w)), "4096 4096 512 nt f16");
  EXPECT_EQ(to_string(w), "4096 4096 512 nt f16 align=16");
  w.types = kBf16;
  w.op_a = Op::t;
  w.op_b = Op::n;
  w.hints = {.align_a = 2, .align_b = 4, .align_d = 8, .beta_is_zero = false, .workspace = WorkspaceClass::small};
  EXPECT_EQ(to_string(w), "4096 4096 512 tn bf16 align=2,4,8 beta=1 workspace=small");
}

TEST(Problem, PrintsEveryPart) {
  const Problem problem{.m = 1,
                        .n = 2,
                        .k = 3,
                        .types = {.a = DType::e4m3, .b = DType::e5m2, .c = DType::f32, .d = DType::f16},
                        .order = SumOrder::batch_invariant,
                        .sm_limit = 100,
                        .batch = 4,
                        .batch_kind = BatchKind::pointers,
                        .group_kind = GroupKind::along_k,
                        .groups = 8,
                        .epilogue = {.scale_a = Scaling::vector,
                                     .scale_b = Scaling::tensor,
                                     .bias = Bias::per_row,
                                     .aux = true,
                                     .activation = Activation::gelu_erf,
                                     .gate = Gate::interleaved,
                                     .residual = true,
                                     .amax = true,
                                     .scale_d = true,
                                     .scalars = true,
                                     .bits = true,
                                     .bias_gradient = Bias::per_row},
                        .prepacked_a = true,
                        .prepacked_b = true};
  EXPECT_EQ(
      to_string(problem),
      "1 2 3 nn e4m3*e5m2>f16 c=f32 order=batch_invariant sms=100 batch=4,pointers groups=8,k "
      "epilogue=scale_a:vector+scale_b+bias:row+aux:bits+gelu_erf+gated:interleaved+residual+amax+scale_d+scalars+"
      "bias_gradient:row prepacked=ab");
  EXPECT_EQ(parse_problem(to_string(problem)), problem);
}

TEST(Problem, AWordThatIsNoneOfAnEpilogueIsToldWithAllThatAre) {
  for (const std::string word : {"BIAS", "none", ""}) {
    const std::string error = error_of("8 8 8 nn f16 epilogue=" + word);
    for (const std::string& part : {"a word of the epilogue is '" + word + "': expected bias, scale_a,",
                                    std::string(", residual, "), std::string(", relu, "), std::string(", dtanh")}) {
      EXPECT_NE(error.find(part), error.npos) << error;
    }
  }
  const std::string twice = error_of("8 8 8 nn f16 epilogue=relu+silu");
  EXPECT_NE(twice.find("a word stands twice, contradicts another, or says none"), twice.npos) << twice;
}

/// An enumerator of Enum, whose first one is 0 and whose last one is `last`.
template <class Enum>
Enum any(std::mt19937& random, Enum last) {
  return static_cast<Enum>(random() % (static_cast<unsigned>(last) + 1));
}

Epilogue any_epilogue(std::mt19937& random) {
  const auto flag = [&] { return random() % 2 != 0; };
  Epilogue e{.scale_a = any(random, Scaling::block_128x128),
             .scale_b = any(random, Scaling::block_128x128),
             .bias = any(random, Bias::per_row),
             .aux = flag(),
             .activation = any(random, Activation::dtanh),
             .gate = any(random, Gate::interleaved),
             .residual = flag(),
             .amax = flag(),
             .scale_d = flag(),
             .scalars = flag(),
             .bias_gradient = any(random, Bias::per_row)};
  e.bits = flag() && (e.aux || e.activation == Activation::drelu);  // others have no text
  return e;
}

Problem any_problem(std::mt19937& random) {
  const auto flag = [&] { return random() % 2 != 0; };
  Problem p{.m = static_cast<std::int64_t>(random() % 2147482624u),
            .n = static_cast<std::int64_t>(random() % 70000u),
            .k = static_cast<std::int64_t>(random() % 3u),
            .op_a = any(random, Op::t),
            .op_b = any(random, Op::t),
            .types = {.a = any(random, DType::s32),
                      .b = any(random, DType::s32),
                      .c = any(random, DType::s32),
                      .d = any(random, DType::s32),
                      .compute = any(random, ComputeType::s32),
                      .mode = any(random, ComputeMode::fast)},
            .order = any(random, SumOrder::batch_invariant),
            .sm_limit = static_cast<int>(random() % 200),
            .batch = static_cast<std::int64_t>(random() % 4),
            .batch_kind = any(random, BatchKind::pointers),
            .group_kind = any(random, GroupKind::along_k),
            .prepacked_a = flag(),
            .prepacked_b = flag()};
  if (flag()) p.types = uniform_types(p.types.a, p.types.compute);
  if (p.group_kind != GroupKind::none) p.groups = static_cast<std::int64_t>(1 + random() % 9);
  if (flag()) p.epilogue = any_epilogue(random);
  return p;
}

TEST(Problem, TextRoundTrips) {
  std::mt19937 random(1);
  const auto alignment = [&](DType type) {
    int bytes = 1 << random() % 5;
    return bytes < size_bytes(type) ? size_bytes(type) : bytes;
  };
  for (int i = 0; i < 5000; ++i) {
    const Problem p = any_problem(random);
    EXPECT_EQ(parse_problem(to_string(p)), p) << to_string(p);
    const Workload w(p, {.align_a = alignment(p.types.a),
                         .align_b = alignment(p.types.b),
                         .align_d = alignment(p.types.d),
                         .beta_is_zero = random() % 2 != 0,
                         .workspace = any(random, WorkspaceClass::full)});
    EXPECT_EQ(parse_workload(to_string(w)), w) << to_string(w);
  }
}

TEST(Problem, PresetsAreWhatTheirNamesSay) {
  const std::pair<const char*, Types> presets[] = {{"f16", kF16}, {"bf16", kBf16}, {"f32", kF32},  {"tf32", kTf32},
                                                   {"s8", kS8},   {"e4m3", kE4m3}, {"e5m2", kE5m2}};
  for (const auto& [name, types] : presets) {
    EXPECT_EQ(to_string(types), name);
    EXPECT_EQ(parse_types(name), types);
  }
  EXPECT_EQ(Problem{}.types, kF16);
  EXPECT_EQ(parse_problem("1 2 3 nn f16 acc=f16").types, uniform_types(DType::f16, ComputeType::f16));
  EXPECT_EQ(parse_problem("1 2 3 nn f32 acc=tf32,fast").types.mode, ComputeMode::fast);
  EXPECT_EQ(to_string(parse_problem("1 2 3 nn f32 acc=tf32")), "1 2 3 nn tf32");
  const Types wide = parse_types("bf16*bf16>f32");
  EXPECT_EQ(wide.c, DType::f32);
  EXPECT_EQ(to_string(wide), "bf16*bf16>f32");
  EXPECT_EQ(parse_types("s8*s8>f32").compute, ComputeType::s32);
}

TEST(Problem, EveryElementTypeHasAPreset) {
  for (int i = 0; i < kElementTypes; ++i) {
    const auto type = static_cast<DType>(i);
    if (type == DType::s32) continue;   // only sums and results are of this type
    if (type == DType::tf32) continue;  // no matrix is: the preset says how f32 is multiplied
    EXPECT_NO_THROW(EXPECT_EQ(parse_types(to_string(type)).a, type))
        << "type " << to_string(type)
        << " has no preset: add a constant to include/hotgemm/problem.hpp, and its name to kPresets in "
           "src/config/problem_text.cpp";
  }
}

TEST(Problem, KindsOfElementTypesFollowTheirRows) {
  for (int i = 0; i < kElementTypes; ++i) {
    const auto type = static_cast<DType>(i);
    const bool is_whole = element_type(type).unit_roundoff == 0;
    EXPECT_EQ(is_integer(type), is_whole) << to_string(type);
    EXPECT_EQ(is_fp8(type), !is_whole && size_bytes(type) == 1) << to_string(type);
    EXPECT_EQ(is_wide_float(type), !is_whole && size_bytes(type) > 1 && type != DType::tf32) << to_string(type);
  }
}

TEST(Problem, KeysMayBeLeftOutAndComeInAnyOrder) {
  EXPECT_EQ(parse_problem("16x32x64 tt bf16"), parse_problem("16 32 64 tt bf16"));
  EXPECT_EQ(parse_workload("  16x32x64\ttt  bf16 "), Workload(parse_problem("16 32 64 tt bf16")));
  EXPECT_EQ(parse_workload("1 2 3 nn f16 beta=1 acc=f16 align=2"),
            parse_workload("1 2 3 nn f16 acc=f16 align=2,2,2 beta=1"));
}

TEST(Problem, WithoutHintsRowsArePacked) {
  // A is stored m×k or k×m, B k×n or n×k, D m×n.
  EXPECT_EQ(to_string(parse_workload("1023 1028 1026 nn f16")), "1023 1028 1026 nn f16 align=4,8,8");
  EXPECT_EQ(to_string(parse_workload("1023 1028 1026 tt f16")), "1023 1028 1026 tt f16 align=2,4,8");
  EXPECT_EQ(to_string(parse_workload("1023 1028 1026 nn f32")), "1023 1028 1026 nn f32 align=8,16,16");
  EXPECT_EQ(to_string(parse_workload("7 0 8 nn f16")), "7 0 8 nn f16 align=16");
  EXPECT_EQ(to_string(parse_workload("7 9 8 nn s8")), "7 9 8 nn s8 align=8,1,4");
  EXPECT_EQ(packed_hints(parse_problem("1000 1001 1003 nn f16")), (Hints{.align_a = 2, .align_b = 2, .align_d = 2}));
}

TEST(Problem, LeadingDimensionsFixTheAlignment) {
  EXPECT_EQ(to_string(parse_workload("100 101 103 nn f16 lda=104 ldd=104")), "100 101 103 nn f16 align=16,2,16");
  EXPECT_EQ(parse_workload("64 4 64 nn f32*f32>f32 c=bf16 ldd=4").hints.align_d, 8) << "rows of C have 8 bytes";
  EXPECT_EQ(to_string(parse_workload("100 101 103 nt f16 ldb=106")), "100 101 103 nt f16 align=2,4,2");
  EXPECT_NE(error_of("100 101 103 nn f16 lda=102").find("lda is 102, less than the 103"), std::string::npos);
  EXPECT_NE(error_of("100 101 103 nn f16 lda=104 align=16").find("cannot both be given"), std::string::npos);
}

TEST(Workload, PromisesNothingThatNobodySaid) {
  EXPECT_EQ(Workload().hints.align_a, 2);
  const Workload unaligned({.m = 8, .n = 8, .k = 8, .types = kF32}, Hints{});
  EXPECT_EQ(unaligned.hints, (Hints{.align_a = 4, .align_b = 4, .align_d = 4}));
  EXPECT_EQ(Workload({.m = 8, .n = 8, .k = 8}).hints.align_d, 16);
}

TEST(Problem, ErrorsNameTheOffendingText) {
  const struct {
    const char* text;
    const char* named;
  } cases[] = {
      {"", "''"},
      {"4096x4096x512", "'4096x4096x512'"},
      {"4096x4096 nt f16", "'4096x4096'"},
      {"1x2x3x4 nt f16", "'1x2x3x4'"},
      {"axbxc nt f16", "m is 'a'"},
      {"1 -2 3 nt f16", "n is '-2': a size cannot be negative"},
      {"1x2x nt f16", "k is ''"},
      {"1 2 +3 nt f16", "k is '+3'"},
      {"1x2x0x10 nt f16", "'1x2x0x10'"},
      {"1 2.5 3 nt f16", "n is '2.5'"},
      {"2147483648 2 3 nt f16", "m is '2147483648': the largest"},
      {"2147482624x2x3 nt f16 f32", "m is '2147482624': the largest size is 2147482623"},
      {"1 2 99999999999999999999 nt f16", "k is '99999999999999999999': the largest"},
      {"1 2 3 no f16", "'no'"},
      {"1 2 3 NQ f16", "'NQ'"},
      {"1 2 3 nt f8", "'f8'"},
      {"1 2 3 nt f16*f8>f16", "'f8'"},
      {"1 2 3 nt f16>f16", "'f16>f16'"},
      {"1 2 3 nt f16 f32", "'f32' is not key=value"},
      {"1 2 3 nt f16 acc=f64", "acc is 'f64': expected f32, f16, tf32, s32"},
      {"1 2 3 nt f16 acc=f32,slow", "'slow'"},
      {"1 2 3 nt f16 c=f8", "'f8'"},
      {"1 2 3 nt f16 align=3", "'3'"},
      {"1 2 3 nt f16 align=32", "'32'"},
      {"1 2 3 nt f16 align=016", "'016'"},
      {"1 2 3 nt f16 align=2,2", "'2,2'"},
      {"1 2 3 nt f32 align=2", "less than one f32 element"},
      {"1 2 3 nt f32 align=4,4,2", "align of D is 2, less than one f32 element"},
      {"1 2 3 nt bf16 c=f32 align=2", "align of D, and so of C, is 2, less than one f32 element"},
      {"1 2 3 nt f16 align=8 align=8", "is a second align"},
      {"1 2 3 nt f16 beta=2", "beta is '2'"},
      {"1 2 3 nt f16 beta", "'beta'"},
      {"1 2 3 nt f16 alpha=1", "'alpha=1'"},
      {"1 2 3 nt f16 count=1", "'count=1'"},
      {"1 2 3 nt f16 batch=a", "batch is 'a'"},
      {"1 2 3 nt f16 batch=4,often", "'often'"},
      {"1 2 3 nt f16 groups=4,m", "'m'"},
      {"1 2 3 nt f16 epilogue=bias+swish", "'swish'"},
      {"1 2 3 nt f16 epilogue=bias:diagonal", "'diagonal'"},
      {"1 2 3 nt f16 epilogue=relu+gelu", "'relu+gelu'"},
      {"1 2 3 nt f16 epilogue=bias+bias:row", "'bias+bias:row'"},
      {"1 2 3 nt f16 epilogue=none", "'none'"},
      {"1 2 3 nt f16 groups=4,none", "'4,none'"},
      {"1 2 3 nt f16 prepacked=c", "'c'"},
      {"1 2 3 nt f16 workspace=some", "'some'"},
      {"1 2 3 nt f\x01\xff", "'f?\?'"},
  };
  for (const auto& c : cases) {
    const std::string message = error_of(c.text);
    EXPECT_NE(message.find(c.named), std::string::npos) << c.text << " gave: " << message;
  }
  EXPECT_THROW(parse_problem("1 2 3 nn f16 beta=1"), Error);
}

TEST(Problem, ExtremeSizesAreAccepted) {
  EXPECT_EQ(parse_problem("0 2147482623 1 nn f16").n, 2147482623);
  EXPECT_EQ(parse_problem("0 2147482623 1 nn f16").m, 0);
}

TEST(Problem, EnumerationsRoundTrip) {
  for (int i = 0; i < kElementTypes; ++i) {
    const auto type = static_cast<DType>(i);
    EXPECT_EQ(parse_dtype(to_string(type)), type);
  }
  EXPECT_EQ(kElementTypes, 8) << "the number of enumerators of DType; if you added one, raise it";
  EXPECT_EQ(to_string(static_cast<DType>(kElementTypes)), "");
  EXPECT_EQ(parse_compute_type("tf32"), ComputeType::tf32);
  for (const Op op : {Op::n, Op::t}) EXPECT_EQ(parse_op(to_string(op)), op);
  EXPECT_THROW(parse_op("c"), Error);
  EXPECT_EQ(parse_dtype("half"), DType::f16);
  EXPECT_THROW(parse_dtype("quarter"), Error);
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
  EXPECT_EQ(buckets,
            (std::set<std::int64_t>{1, 2, 4, 8, 16, 24, 32, 48, 64, 96, 128, 144, 160, 176, 192, 208, 224, 240, 256}));
}

TEST(ClassM, HoldsIsMonotoneAndIdempotent) {
  for (std::int64_t m = 1; m <= 100000; ++m) {
    const std::int64_t bucket = class_m(m);
    ASSERT_GE(bucket, m);
    ASSERT_LE(class_m(m - 1), bucket);
    ASSERT_EQ(class_m(bucket), bucket);
    if (m > 128) {
      ASSERT_LE(static_cast<double>(bucket), static_cast<double>(m) * 1.125);
    } else {
      ASSERT_LE(bucket - m, m < 8 ? m : m <= 32 ? 8 : 32);
    }
  }
}

TEST(ClassM, About60BucketsUpTo8192) {
  std::set<std::int64_t> buckets;
  for (std::int64_t m = 1; m <= 8192; ++m) buckets.insert(class_m(m));
  EXPECT_EQ(buckets.size(), 59u);
}

TEST(ClassM, EndsOfTheRange) {
  constexpr std::int64_t kLargest = 2147482623;  // 2^31 - 1 less the 1024 that a tile may reach beyond a matrix
  constexpr std::int64_t kLastStep = std::int64_t{15} << 27;
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
