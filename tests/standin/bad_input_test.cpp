#include "runtime/validate.hpp"
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
constexpr ErrorCode kUnsupported = ErrorCode::not_supported;

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

void blocks_of(Problem& p) {
  p.epilogue.scale_a = Scaling::block_1x128;
  p.epilogue.scale_b = Scaling::block_128x128;
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
      {"a of f32", kInvalid, {"a is"}, [](Call& c) { c.problem.types = kF32, c.operands.a = Call::pointer(0x10002); }},
  };
}

/// Operands that Context::pack did not make, as far as that shows.
std::vector<Bad> bad_prepacked_operands() {
  const auto bad = [](const char* part, const std::function<void(Call&)>& spoil) {
    return Bad{part, kInvalid, {part}, [spoil](Call& c) {
                 c.problem.prepacked_a = c.problem.prepacked_b = true;
                 c.operands.lda = 32;
                 c.operands.ldb = 16;
                 spoil(c);
               }};
  };
  return {
      bad("lda is 24; prepacked rows of 24 elements are 32 apart", [](Call& c) { c.operands.lda = 24; }),
      bad("lda is 64", [](Call& c) { c.operands.lda = 64; }),
      bad("lda is 0", [](Call& c) { c.operands.lda = 0; }),
      bad("ldb is 24; prepacked rows of 16 elements are 16 apart", [](Call& c) { c.operands.ldb = 24; }),
      bad("ldb is 0", [](Call& c) { c.operands.ldb = 0, c.operands.alpha = 0; }),
      bad("ldb is 24", [](Call& c) { c.operands.ldb = 24, c.problem.m = 0; }),
      bad("ldb is 16", [](Call& c) { c.problem.op_b = Op::t; }),
      bad("a is prepacked and not at a multiple of 16", [](Call& c) { c.operands.a = Call::pointer(0x10008); }),
      bad("b is prepacked and not at a multiple of 16", [](Call& c) { c.operands.b = Call::pointer(0x20002); }),
      bad("a is null", [](Call& c) { c.operands.a = nullptr; }),
  };
}

std::vector<Bad> bad_types() {
  const auto types = [](DType dtype, ComputeType compute) {
    return [=](Call& c) { c.problem.types = uniform_types(dtype, compute); };
  };
  const auto garbage = static_cast<DType>(9);
  const auto none = static_cast<ComputeType>(9);
  return {
      {"bf16 in f16", kUnsupported, {"compute type f16 for elements of bf16"}, types(DType::bf16, ComputeType::f16)},
      {"f32 in f16", kUnsupported, {"compute type f16 for elements of f32"}, types(DType::f32, ComputeType::f16)},
      {"tf32", kUnsupported, {"compute type tf32"}, types(DType::bf16, ComputeType::tf32)},
      {"s32", kUnsupported, {"compute type s32"}, types(DType::f16, ComputeType::s32)},
      {"element", kInvalid, {"type of A is 9"}, types(garbage, ComputeType::f32)},
      {"D", kInvalid, {"type of D is 9"}, [=](Call& c) { c.problem.types.d = garbage; }},
      {"compute", kInvalid, {"compute type is 9"}, types(DType::f16, none)},
      {"op A", kInvalid, {"op A is 99"}, [](Call& c) { c.problem.op_a = static_cast<Op>(99); }},
      {"op B", kInvalid, {"op B is 255"}, [](Call& c) { c.problem.op_b = static_cast<Op>(255); }},
  };
}

/// Every part of a problem that no kernel of this version computes.
std::vector<Bad> unsupported_parts() {
  const auto all_of = [](const char* name, const char* part, void (*spoil)(Problem&)) {
    return Bad{name, kUnsupported, {part, "is not supported yet"}, [spoil](Call& c) { spoil(c.problem); }};
  };
  return {
      all_of("s8 of e4m3", "B of type e4m3 with A of s8", [](Problem& p) { p.types = kS8, p.types.b = DType::e4m3; }),
      all_of("s8 in f32", "compute type f32 for elements of s8",
             [](Problem& p) { p.types = kS8, p.types.compute = {}; }),
      all_of("D of e5m2", "D of type e5m2 with A of e4m3",
             [](Problem& p) { p.types = kE4m3, p.types.d = DType::e5m2; }),
      all_of("D of s8", "D of type s8 with A of f16", [](Problem& p) { p.types.d = DType::s8; }),
      all_of("fast f16", "compute mode fast", [](Problem& p) { p.types = kF16, p.types.mode = ComputeMode::fast; }),
      all_of("s32", "A of type s32", [](Problem& p) { p.types = uniform_types(DType::s32, ComputeType::s32); }),
      all_of("tf32", "compute type tf32", [](Problem& p) { p.types.compute = ComputeType::tf32; }),
      all_of("B", "B of type bf16 with A of f16", [](Problem& p) { p.types.b = DType::bf16; }),
      all_of("C", "C of type f32 with D of f16", [](Problem& p) { p.types.c = DType::f32; }),
      all_of("D", "D of type bf16 with A of f16", [](Problem& p) { p.types.d = DType::bf16; }),
      all_of("mode", "compute mode fast", [](Problem& p) { p.types.mode = ComputeMode::fast; }),
      all_of("batch of prepacked operands", "batch of prepacked operands",
             [](Problem& p) {
               p.batch = 4;
               p.prepacked_b = true;
             }),
      all_of("pointers to prepacked operands", "batch of prepacked operands",
             [](Problem& p) {
               p.batch_kind = BatchKind::pointers;
               p.prepacked_b = true;
             }),
      all_of("groups by pointers", "a batch of groups",
             [](Problem& p) {
               p.groups = 8, p.group_kind = GroupKind::rows;
               p.batch_kind = BatchKind::pointers;
             }),
      all_of("groups along k of rows of A", "an A that is not transposed with groups along k",
             [](Problem& p) { p.groups = 8, p.group_kind = GroupKind::along_k, p.op_a = Op::n; }),
      all_of("groups along k of columns of B", "a transposed B with groups along k",
             [](Problem& p) { p.groups = 8, p.group_kind = GroupKind::along_k, p.op_a = p.op_b = Op::t; }),
      all_of("groups of columns of A", "a transposed A with groups of rows",
             [](Problem& p) { p.groups = 8, p.group_kind = GroupKind::rows, p.op_a = Op::t; }),
      all_of("a batch of groups", "a batch of groups",
             [](Problem& p) { p.groups = 8, p.group_kind = GroupKind::rows, p.batch = 2; }),
      all_of("groups with prepacked weights", "prepacked operands with groups",
             [](Problem& p) { p.groups = 8, p.group_kind = GroupKind::rows, p.prepacked_b = true; }),
      all_of("gate", "a derivative with a gated epilogue",
             [](Problem& p) { p.epilogue.gate = Gate::halves, p.epilogue.activation = Activation::dsilu; }),
      all_of("an ordered gradient", "the gradient of a bias with order batch_invariant",
             [](Problem& p) { p.epilogue.bias_gradient = Bias::per_row, p.order = SumOrder::batch_invariant; }),
      all_of("blocks of A alone", "an epilogue with scaling block_1x128 of A and none of B",
             [](Problem& p) { p.epilogue.scale_a = Scaling::block_1x128; }),
      all_of("blocks of f16", "scales of blocks with A of type f16", blocks_of),
      all_of("fast blocks", "scales of blocks with compute mode fast",
             [](Problem& p) {
               blocks_of(p);
               p.types = kE4m3, p.types.mode = ComputeMode::fast;
             }),
      all_of("a gate between blocks", "scales of blocks with a gate in halves that are no multiple of 128 columns",
             [](Problem& p) {
               blocks_of(p);
               p.types = kE4m3, p.n = 384, p.epilogue.gate = Gate::halves;
             }),
      all_of("bias of s32", "an epilogue with D of type s32",
             [](Problem& p) { p.types = kS8, p.epilogue.bias = Bias::per_column; }),
      all_of("packed A", "prepacked A of type f32", [](Problem& p) { p.types = kF32, p.prepacked_a = true; }),
      all_of("packed B", "prepacked B of type f32", [](Problem& p) { p.types = kF32, p.prepacked_b = true; }),
  };
}

std::vector<Bad> bad_values() {
  const auto bad = [](const char* part, void (*spoil)(Problem&)) {
    return Bad{part, kInvalid, {part}, [spoil](Call& c) { spoil(c.problem); }};
  };
  return {
      bad("compute mode is 2", [](Problem& p) { p.types.mode = static_cast<ComputeMode>(2); }),
      bad("order of sums is 3", [](Problem& p) { p.order = static_cast<SumOrder>(3); }),
      bad("sm_limit is -1", [](Problem& p) { p.sm_limit = -1; }),
      bad("sm_limit is 65536", [](Problem& p) { p.sm_limit = 65536; }),
      bad("batch is negative", [](Problem& p) { p.batch = -1; }),
      bad("batch is 2147483648", [](Problem& p) { p.batch = std::int64_t{1} << 31; }),
      bad("kind of batch is 2", [](Problem& p) { p.batch_kind = static_cast<BatchKind>(2); }),
      bad("groups is 2, and group_kind none", [](Problem& p) { p.groups = 2; }),
      bad("groups is negative", [](Problem& p) { p.groups = -1, p.group_kind = GroupKind::rows; }),
      bad("groups is 0, and group_kind rows", [](Problem& p) { p.group_kind = GroupKind::rows; }),
      bad("kind of groups is 4", [](Problem& p) { p.group_kind = static_cast<GroupKind>(4); }),
      bad("scaling of A is 5", [](Problem& p) { p.epilogue.scale_a = static_cast<Scaling>(5); }),
      bad("scaling of B is 5", [](Problem& p) { p.epilogue.scale_b = static_cast<Scaling>(5); }),
      bad("bias is 3", [](Problem& p) { p.epilogue.bias = static_cast<Bias>(3); }),
      bad("activation is 14", [](Problem& p) { p.epilogue.activation = static_cast<Activation>(14); }),
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
TEST_F(BadInputTest, PrepackedOperands) { expect_refused(bad_prepacked_operands()); }
TEST_F(BadInputTest, Types) { expect_refused(bad_types()); }
TEST_F(BadInputTest, PartsWithoutKernels) { expect_refused(unsupported_parts()); }
TEST_F(BadInputTest, Values) { expect_refused(bad_values()); }

TEST_F(BadInputTest, TheFirstBadArgumentIsNamed) {
  // Each step also breaks the arguments that are checked later. The order is m, n, k, ops, types, A, B, C, D.
  const std::vector<std::pair<std::string, std::function<void(Call&)>>> kSteps = {
      {"d is null", [](Call& c) { c.operands.d = nullptr; }},
      {"c is null", [](Call& c) { c.operands.c = nullptr; }},
      {"b is null", [](Call& c) { c.operands.b = nullptr; }},
      {"lda is 1", [](Call& c) { c.operands.lda = 1; }},
      {"the compute type", [](Call& c) { c.problem.types.compute = static_cast<ComputeType>(9); }},
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
  const std::pair<const char*, int Hints::*> kClasses[] = {
      {"A", &Hints::align_a}, {"B", &Hints::align_b}, {"C", &Hints::align_d}};
  for (const auto& [name, alignment] : kClasses) {
    for (const int bytes : {0, 1, 3, 6, 32, -2, std::numeric_limits<int>::min()}) {
      Workload problem{Problem{.m = 8, .n = 16, .k = 8}};
      problem.hints.*alignment = bytes;
      expect_thrown(kInvalid, {"alignment class of " + std::string(name) + " is " + std::to_string(bytes) + " bytes"},
                    [&] { context().plan(problem); });
    }
    Workload problem{Problem{.m = 8, .n = 16, .k = 8, .types = kF32}};
    problem.hints.*alignment = 2;
    expect_thrown(kInvalid, {"at least 4"}, [&] { context().plan(problem); });
  }
  EXPECT_EQ(standin().launches(), 0u);
}

TEST_F(BadInputTest, AlignmentClassOfAPrepackedOperand) {
  for (int Hints::*const alignment : {&Hints::align_a, &Hints::align_b}) {
    Workload problem{Problem{.m = 8, .n = 16, .k = 8, .prepacked_a = true, .prepacked_b = true}};
    problem.hints.*alignment = 8;
    expect_thrown(kInvalid, {"is 8 bytes; that of a prepacked operand is 16"}, [&] { context().plan(problem); });
  }
}

TEST_F(BadInputTest, Packing) {
  struct Arguments {
    Problem problem{.m = 8, .n = 16, .k = 24};  // A is 8×24, in 512 bytes
    Operand operand = Operand::a;
    const void* from = Call::pointer(0x10000);
    std::int64_t ld = 25;
    void* to = Call::pointer(0x20000);
  };
  const std::vector<std::pair<std::string, std::function<void(Arguments&)>>> kBad = {
      {"k is negative", [](Arguments& a) { a.problem.k = -1; }},
      {"the operand is 2", [](Arguments& a) { a.operand = static_cast<Operand>(2); }},
      {"lda is 23", [](Arguments& a) { a.ld = 23; }},
      {"ldb is 15", [](Arguments& a) { a.operand = Operand::b, a.ld = 15; }},
      {"lda is 9223372036854775807", [](Arguments& a) { a.ld = kMost; }},
      {"a is null", [](Arguments& a) { a.from = nullptr; }},
      {"a is not aligned to its element", [](Arguments& a) { a.from = Call::pointer(0x10001); }},
      {"the memory for prepacked a is null", [](Arguments& a) { a.to = nullptr; }},
      {"the memory for prepacked b is not at a multiple of 16",
       [](Arguments& a) { a.operand = Operand::b, a.to = Call::pointer(0x20008); }},
      {"beyond the last address", [](Arguments& a) { a.to = Call::pointer(~std::uintptr_t{0xff}); }},
      {"overlaps a", [](Arguments& a) { a.to = const_cast<void*>(a.from); }},
      {"overlaps a", [](Arguments& a) { a.to = Call::pointer(0x10000 - 512 + 16); }},
      {"overlaps a", [](Arguments& a) { a.to = Call::pointer(0x10000 + (7 * 25 + 24) * 2 / 16 * 16); }},
      {"prepacked A of type f32", [](Arguments& a) { a.problem.types = kF32; }},
  };
  const std::size_t calls = standin().calls("*");
  for (const auto& [named, spoil] : kBad) {
    SCOPED_TRACE(named);
    Arguments a;
    spoil(a);
    const ErrorCode code = a.problem.types == kF32 ? kUnsupported : kInvalid;
    expect_thrown(code, {named}, [&] { context().pack(stream(), a.problem, a.operand, a.from, a.ld, a.to); });
  }
  EXPECT_EQ(standin().calls("*"), calls) << "the driver was called";
  // The copy may end where A begins, and begin where A ends.
  for (const auto& [from, to] : {std::pair(0x10000, 0x10000 - 512), std::pair(0x10002, 0x10002 + (7 * 25 + 24) * 2)}) {
    const Arguments a;
    EXPECT_NO_THROW(validate_packing(a.problem, a.operand, Call::pointer(from), a.ld, Call::pointer(to))) << to;
  }
}

TEST_F(BadInputTest, MoreTilesThanAGridHasBlocks) {
  Call call;
  call.problem = {.m = kLargest, .n = 1 << 29, .k = 8};
  call.operands.lda = 8, call.operands.ldb = call.operands.ldc = call.operands.ldd = 1 << 29;
  call.operands.beta = 0;
  expect_thrown(ErrorCode::not_supported, {"2147482623 536870912 8", "tiles"},
                [&] { context().gemm(stream(), call.problem, call.operands); });
  EXPECT_EQ(standin().launches(), 0u);
}

TEST_F(BadInputTest, TheLargestSizesArePlanned) {
  for (const std::int64_t m : {std::int64_t{7} << 28, (std::int64_t{7} << 28) + 1, kLargest}) {
    EXPECT_NO_THROW(context(Policy::estimate).plan(Workload(Problem{.m = m, .n = 8, .k = 8}))) << m;
  }
}

}  // namespace
}  // namespace hotgemm::standin
