#include "standin/runtime_fixture.hpp"

#include <functional>
#include <limits>

namespace hotgemm::standin {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kLargest = 2147482623;  // m, n or k

/// A valid call: 8×16×24, f16, beta 1. Its pointers are never followed.
struct Call {
  Problem problem{.m = 8, .n = 16, .k = 24};
  Operands operands{.a = pointer(0x10000),
                    .b = pointer(0x20000),
                    .c = pointer(0x30000),
                    .d = pointer(0x40000),
                    .lda = 24,
                    .ldb = 24,
                    .ldc = 16,
                    .ldd = 16,
                    .beta = 1};
  static void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }
};

struct Bad {
  const char* name;
  ErrorCode code;
  std::vector<std::string> parts;
  std::function<void(Call&)> spoil;
};

constexpr ErrorCode kInvalid = ErrorCode::invalid_argument;

std::vector<Bad> bad_sizes() {
  std::vector<Bad> all;
  const std::pair<const char*, std::int64_t Problem::*> kSizes[] = {
      {"m", &Problem::m}, {"n", &Problem::n}, {"k", &Problem::k}};
  for (const auto& [name, size] : kSizes) {
    for (const std::int64_t value : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
      all.push_back({name,
                     kInvalid,
                     {std::string(name) + " is negative: " + std::to_string(value)},
                     [size = size, value](Call& c) { c.problem.*size = value; }});
    }
    for (const std::int64_t value : {std::int64_t{2147482624}, std::int64_t{1} << 31, kMost}) {
      all.push_back({name,
                     kInvalid,
                     {std::string(name) + " is " + std::to_string(value), "at most 2147482623"},
                     [size = size, value](Call& c) { c.problem.*size = value; }});
    }
  }
  return all;
}

std::vector<Bad> bad_leading_dimensions() {
  std::vector<Bad> all;
  struct Ld {
    const char* name;
    std::int64_t Operands::*ld;
    std::int64_t least[2][2];  // [op A][op B]
  };
  const Ld kLds[] = {{"lda", &Operands::lda, {{24, 24}, {8, 8}}},
                     {"ldb", &Operands::ldb, {{16, 24}, {16, 24}}},
                     {"ldc", &Operands::ldc, {{16, 16}, {16, 16}}},
                     {"ldd", &Operands::ldd, {{16, 16}, {16, 16}}}};
  for (const Ld& which : kLds) {
    for (const int a : {0, 1}) {
      for (const int b : {0, 1}) {
        for (const std::int64_t value : {which.least[a][b] - 1, std::int64_t{0}, std::int64_t{-5}, kMost, kMost / 2}) {
          all.push_back({which.name,
                         kInvalid,
                         {std::string(which.name) + " is " + std::to_string(value)},
                         [ld = which.ld, value, a, b](Call& c) {
                           c.problem.op_a = static_cast<Op>(a), c.problem.op_b = static_cast<Op>(b);
                           c.operands.*ld = value;
                         }});
        }
      }
    }
  }
  for (const std::int64_t Problem::*extent : {&Problem::m, &Problem::n}) {
    all.push_back({"ld of nothing", kInvalid, {"lda is 0"}, [extent](Call& c) {
                     c.problem.*const_cast<std::int64_t Problem::*>(extent) = 0;
                     c.operands.lda = 0;
                   }});
  }
  all.push_back({"in place", kInvalid, {"C and D", "ldc 16", "ldd 24"}, [](Call& c) {
                   c.operands.d = const_cast<void*>(c.operands.c);
                   c.operands.ldd = 24;
                 }});
  return all;
}

std::vector<Bad> bad_pointers() {
  return {
      {"a", kInvalid, {"a is null"}, [](Call& c) { c.operands.a = nullptr; }},
      {"b", kInvalid, {"b is null"}, [](Call& c) { c.operands.b = nullptr; }},
      {"c", kInvalid, {"c is null"}, [](Call& c) { c.operands.c = nullptr; }},
      {"d", kInvalid, {"d is null"}, [](Call& c) { c.operands.d = nullptr; }},
      {"d of zero alpha",
       kInvalid,
       {"d is null"},
       [](Call& c) { c.operands.alpha = 0, c.operands.a = c.operands.b = c.operands.d = nullptr; }},
      {"a odd", kInvalid, {"a is not aligned"}, [](Call& c) { c.operands.a = Call::pointer(0x10001); }},
      {"b odd", kInvalid, {"b is not aligned"}, [](Call& c) { c.operands.b = Call::pointer(0x20001); }},
      {"c odd", kInvalid, {"c is not aligned"}, [](Call& c) { c.operands.c = Call::pointer(0x30001); }},
      {"d odd", kInvalid, {"d is not aligned"}, [](Call& c) { c.operands.d = Call::pointer(0x40001); }},
      {"a of f32",
       kInvalid,
       {"a is"},
       [](Call& c) { c.problem.dtype = DType::f32, c.operands.a = Call::pointer(0x10002); }},
  };
}

std::vector<Bad> bad_types() {
  const auto types = [](DType dtype, DType accumulator) {
    return [=](Call& c) { c.problem.dtype = dtype, c.problem.accumulator = accumulator; };
  };
  const auto garbage = static_cast<DType>(9);
  return {
      {"f16 in bf16", ErrorCode::not_supported, {"f16", "bf16"}, types(DType::f16, DType::bf16)},
      {"bf16 in bf16", ErrorCode::not_supported, {"bf16"}, types(DType::bf16, DType::bf16)},
      {"bf16 in f16", ErrorCode::not_supported, {"bf16", "f16"}, types(DType::bf16, DType::f16)},
      {"f32 in f16", ErrorCode::not_supported, {"f32", "f16"}, types(DType::f32, DType::f16)},
      {"element", kInvalid, {"element type is 9"}, types(garbage, DType::f32)},
      {"accumulator", kInvalid, {"accumulator type is 9"}, types(DType::f16, garbage)},
      {"op A", kInvalid, {"op A is 99"}, [](Call& c) { c.problem.op_a = static_cast<Op>(99); }},
      {"op B", kInvalid, {"op B is 255"}, [](Call& c) { c.problem.op_b = static_cast<Op>(255); }},
  };
}

class BadInputTest : public RuntimeTest {
 protected:
  void expect_refused(const std::vector<Bad>& all) {
    const Context& before = context();
    const std::size_t calls = standin().calls("*");
    for (const Bad& bad : all) {
      SCOPED_TRACE(bad.name);
      Call call;
      bad.spoil(call);
      expect_thrown(bad.code, bad.parts, [&] { context().gemm(stream(), call.problem, call.operands); });
    }
    EXPECT_EQ(standin().calls("*"), calls) << "the driver was called";
    EXPECT_EQ(before.stats().plans, 0u);
  }
};

TEST_F(BadInputTest, Sizes) { expect_refused(bad_sizes()); }
TEST_F(BadInputTest, LeadingDimensions) { expect_refused(bad_leading_dimensions()); }
TEST_F(BadInputTest, Pointers) { expect_refused(bad_pointers()); }
TEST_F(BadInputTest, Types) { expect_refused(bad_types()); }

TEST_F(BadInputTest, TheFirstBadArgumentIsNamed) {
  // Each step also breaks the arguments that are checked later. The order is m, n, k, ops, types, A, B, C, D.
  const std::vector<std::pair<std::string, std::function<void(Call&)>>> kSteps = {
      {"d is null", [](Call& c) { c.operands.d = nullptr; }},
      {"c is null", [](Call& c) { c.operands.c = nullptr; }},
      {"b is null", [](Call& c) { c.operands.b = nullptr; }},
      {"lda is 1", [](Call& c) { c.operands.lda = 1; }},
      {"accumulated", [](Call& c) { c.problem.accumulator = DType::bf16; }},
      {"op B", [](Call& c) { c.problem.op_b = static_cast<Op>(2); }},
      {"op A", [](Call& c) { c.problem.op_a = static_cast<Op>(2); }},
      {"k is", [](Call& c) { c.problem.k = -1; }},
      {"n is", [](Call& c) { c.problem.n = kMost; }},
      {"m is", [](Call& c) { c.problem.m = -1; }},
  };
  Call call;
  for (const auto& [named, spoil] : kSteps) {
    spoil(call);
    EXPECT_THAT(thrown_by([&] { context().gemm(stream(), call.problem, call.operands); }).message,
                testing::HasSubstr(named));
  }
}

TEST_F(BadInputTest, AlignmentClassesOfPlans) {
  const std::pair<const char*, int Problem::*> kClasses[] = {
      {"A", &Problem::align_a}, {"B", &Problem::align_b}, {"D", &Problem::align_d}};
  for (const auto& [name, alignment] : kClasses) {
    for (const int bytes : {0, 1, 3, 6, 32, -2, std::numeric_limits<int>::min()}) {
      Problem problem{.m = 8, .n = 16, .k = 8};
      problem.*alignment = bytes;
      expect_thrown(kInvalid, {"alignment class of " + std::string(name) + " is " + std::to_string(bytes) + " bytes"},
                    [&] { context().plan(problem); });
    }
    Problem problem{.m = 8, .n = 16, .k = 8, .dtype = DType::f32};
    problem.*alignment = 2;
    expect_thrown(kInvalid, {"4, 8, 16"}, [&] { context().plan(problem); });
  }
  EXPECT_EQ(standin().launches(), 0u);
}

TEST_F(BadInputTest, MoreTilesThanAGridHasBlocks) {
  Call call;
  call.problem = {.m = kLargest, .n = 1 << 29, .k = 8};
  call.operands.lda = 8, call.operands.ldb = call.operands.ldc = call.operands.ldd = 1 << 29;
  call.operands.beta = 0;
  expect_thrown(ErrorCode::not_supported, {"2147482623x536870912x8", "tiles"},
                [&] { context().gemm(stream(), call.problem, call.operands); });
  EXPECT_EQ(standin().launches(), 0u);
}

TEST_F(BadInputTest, TheLargestSizesArePlanned) {
  for (const std::int64_t m : {std::int64_t{7} << 28, (std::int64_t{7} << 28) + 1, kLargest}) {
    EXPECT_NO_THROW(context(Policy::estimate).plan({.m = m, .n = 8, .k = 8})) << m;
  }
}

}  // namespace
}  // namespace hotgemm::standin
