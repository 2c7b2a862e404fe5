#include "config/traits.hpp"

#include "config/supported.hpp"
#include "unit/plan_fixture.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

TEST(Traits, HoldWhatTheProblemFixes) {
  const Workload problem = parse_workload("128 256 64 tn bf16 align=16,8,4 beta=1");
  const GemmTraits traits = traits_of(problem);
  EXPECT_EQ(traits, (GemmTraits{.element = DType::bf16,
                                .accumulator = DType::f32,
                                .op_a = Op::t,
                                .op_b = Op::n,
                                .reads_c = true,
                                .vec_a = 8,
                                .vec_b = 4,
                                .vec_d = 2}));
  EXPECT_FALSE(traits.a_is_k_major());
  EXPECT_FALSE(traits.b_is_k_major());
}

TEST(Traits, NameTheEpilogue) {
  GemmTraits traits = traits_of(parse_workload("128 256 64 nt bf16 epilogue=scale_a:vector+scale_b+bias+gelu_erf"));
  EXPECT_TRUE(traits.is_fused());
  EXPECT_EQ(to_string(traits), "bf16_f32_nt_a8b8d8_c0_esavsbtbngeluerf");
  EXPECT_EQ(traits_of(workload_of(traits, 5, 6, 7)), traits);
  traits = traits_of(parse_workload("128 256 64 nt bf16 epilogue=bias:row+aux+relu+residual+scale_d+scalars"));
  EXPECT_EQ(to_string(traits), "bf16_f32_nt_a8b8d8_c0_ebmauxreluressddev");
  EXPECT_FALSE(traits_of(parse_workload("128 256 64 nt bf16")).is_fused());
}

TEST(Traits, VectorsAreInElements) {
  Workload problem = parse_workload("128 256 64 nt f32 align=16,8,4");
  GemmTraits traits = traits_of(problem);
  EXPECT_EQ(traits.vec_a, 4);
  EXPECT_EQ(traits.vec_b, 2);
  EXPECT_EQ(traits.vec_d, 1);
  EXPECT_FALSE(traits.reads_c);
  EXPECT_TRUE(traits.a_is_k_major());
  EXPECT_TRUE(traits.b_is_k_major());
}

TEST(Traits, AreThoseOfTheWorkloadMadeForThem) {
  const GemmTraits traits{.element = DType::f16,
                          .accumulator = DType::f16,
                          .op_a = Op::t,
                          .op_b = Op::n,
                          .reads_c = true,
                          .vec_a = 8,
                          .vec_b = 1,
                          .vec_d = 4};
  EXPECT_EQ(traits_of(workload_of(traits, 5, 6, 7)), traits);
  EXPECT_EQ(to_string(workload_of(traits, 5, 6, 7)), "5 6 7 tn f16 acc=f16 align=16,2,8 beta=1");
}

TEST(Traits, HaveATypeForEachMatrix) {
  const Workload problem = parse_workload("128 256 64 nt e4m3*e5m2>f32 align=16,8,16");
  const GemmTraits traits = traits_of(problem);
  EXPECT_EQ(traits.element, DType::e4m3);
  EXPECT_EQ(traits.element_b, DType::e5m2);
  EXPECT_EQ(traits.element_d, DType::f32);
  EXPECT_EQ(traits.vec_a, 16);
  EXPECT_EQ(traits.vec_b, 8);
  EXPECT_EQ(traits.vec_d, 4);
  EXPECT_EQ(to_string(traits), "e4m3xe5m2_f32tof32_nt_a16b8d4_c0");
  EXPECT_EQ(workload_of(traits, 128, 256, 64), problem);
  EXPECT_EQ(to_string(traits_of(parse_workload("4 4 4 nt s8 align=16"))), "s8_s32tos32_nt_a16b16d4_c0");
}

/// All types that problems can have, whether or not kernels have them.
template <class Visit>
void for_all_problem_types(const Visit& visit) {
  for (int i = 0; i < kElementTypes * kElementTypes * kElementTypes; ++i) {
    const auto type = [](int number) { return static_cast<DType>(number % kElementTypes); };
    const DType d = type(i / kElementTypes / kElementTypes);
    for (const ComputeType compute : {ComputeType::f32, ComputeType::f16, ComputeType::tf32, ComputeType::s32})
      visit(Types{.a = type(i), .b = type(i / kElementTypes), .c = d, .d = d, .compute = compute});
  }
}

bool is_stated_by_a_family(const KernelTypes& types) {
  return std::ranges::any_of(families(),
                             [&](const Family& family) { return std::ranges::count(family.types, types) > 0; });
}

TEST(Traits, AreMadeForTheTypesThatSomeFamilyStates) {
  std::size_t supported = 0;
  for_all_problem_types([&](const Types& types) {
    const Problem problem{.m = 8, .n = 8, .k = 8, .types = types};
    const DType a = multiplied_type(types.a, types.compute), b = multiplied_type(types.b, types.compute);
    const bool is_tf32 = types.compute == ComputeType::tf32, has_it = types.a == DType::tf32 || types.b == DType::tf32;
    const bool is_stated =
        !has_it && (a == DType::tf32) == is_tf32 && is_stated_by_a_family({a, sum_type(types.compute), b, types.d});
    ASSERT_EQ(is_supported(problem), is_stated) << to_string(problem);
    if (!is_stated) {
      EXPECT_THROW(require_supported(problem), Error) << to_string(problem);
      return;
    }
    ++supported;
    EXPECT_EQ(types_of(traits_of(Workload(problem))), types) << to_string(problem);
  });
  EXPECT_EQ(supported, 31U);  // those of family simt, and f16 in f16
}

TEST(Traits, ElementsOfF32AreMultipliedAsTf32IfTheCallerAsksForIt) {
  const Workload problem = parse_workload("64 64 64 nt tf32");
  EXPECT_EQ(to_string(traits_of(problem)), "tf32_f32tof32_nt_a4b4d4_c0");
  EXPECT_EQ(types_of(traits_of(problem)), kTf32);
  EXPECT_EQ(traits_of(parse_workload("64 64 64 nt f32")).element, DType::f32);
}

TEST(Traits, SumsOfFp8AreFastIfTheCallerAllowsIt) {
  const Workload precise = parse_workload("64 64 64 nt e4m3*e5m2>bf16");
  const Workload fast = parse_workload("64 64 64 nt e4m3*e5m2>bf16 acc=f32,fast");
  EXPECT_FALSE(traits_of(precise).fast_sums);
  EXPECT_TRUE(traits_of(fast).fast_sums);
  EXPECT_NE(to_string(traits_of(precise)), to_string(traits_of(fast)));
  EXPECT_EQ(types_of(traits_of(fast)), fast.types);
}

TEST(Traits, GroupsOfRowsAreProductsOfAKernelOfTheirOwn) {
  const GemmTraits traits = traits_of(parse_workload("64 64 64 nt bf16 groups=8"));
  EXPECT_TRUE(traits.grouped && traits.batched);
  EXPECT_EQ(to_string(traits), "bf16_f32_nt_a8b8d8_c0_group");
  EXPECT_EQ(traits_of(workload_of(traits, 64, 64, 64)), traits);
}

TEST(Traits, EachKindOfGroupsHasKernelsOfItsOwn) {
  for (const auto& [text, name] : {std::pair("nt bf16 groups=8,masked", "bf16_f32_nt_a8b8d8_c0_masked"),
                                   {"tn bf16 groups=8,k", "bf16_f32_tn_a8b8d8_c0_groupk"}}) {
    const GemmTraits traits = traits_of(parse_workload(std::string("64 64 64 ") + text));
    EXPECT_TRUE(traits.grouped && traits.batched && !traits.divides_rows());
    EXPECT_EQ(to_string(traits), name);
  }
}

TEST(Traits, BatchesByPointersHaveKernelsOfTheirOwn) {
  for (const char* batch : {"batch=3,pointers", "batch=1,pointers"}) {
    const GemmTraits traits = traits_of(parse_workload(std::string("64 64 64 nt bf16 ") + batch));
    EXPECT_TRUE(traits.pointers && traits.batched);
    EXPECT_EQ(to_string(traits), "bf16_f32_nt_a8b8d8_c0_pointers");
    EXPECT_EQ(traits_of(workload_of(traits, 64, 64, 64)), traits);
  }
}

TEST(Traits, NoKernelTakesWhatIsNotSupported) {
  for (const char* more : {"nn f16 groups=2,k", "tt f16 groups=2,k", "tt f16 groups=2", "nt f16 groups=2 batch=2",
                           "nt f16 groups=2 prepacked=a"}) {
    EXPECT_THROW(traits_of(parse_workload(std::string("64 64 64 ") + more)), Error) << more;
  }
  EXPECT_THROW(traits_of(parse_workload("64 64 64 nn tf32*tf32>f32")), Error);  // no matrix has it
  EXPECT_THROW(traits_of(parse_workload("64 64 64 nn f16 acc=tf32")), Error);
  EXPECT_THROW(traits_of(parse_workload("64 64 64 nn f16 acc=f32,fast")), Error);  // only FP8 has fast sums
  EXPECT_THROW(traits_of(parse_workload("64 64 64 nn bf16*f16>f32")), Error);
  EXPECT_THROW(traits_of(parse_workload("64 64 64 nn bf16*bf16>f32 c=bf16")), Error);
  EXPECT_THROW(traits_of(parse_workload("64 64 64 nt f16 batch=1,pointers prepacked=b")), Error);
  EXPECT_THROW(traits_of(parse_workload("64 64 64 nt f16 batch=2 prepacked=b")), Error);
  EXPECT_THROW(traits_of(parse_workload("64 64 64 nn f16 epilogue=drelu+gated")), Error);
  EXPECT_THROW(traits_of(parse_workload("64 63 64 nn f16 epilogue=relu+gated")), Error);
  EXPECT_THROW(traits_of(parse_workload("64 64 64 nn f16 epilogue=relu+gated beta=1")), Error);
}

TEST(Traits, AccessesOfAGatedBFitItsSecondHalf) {
  const auto width = [](const char* text) { return traits_of(parse_workload(text)).vec_b; };
  EXPECT_EQ(width("64 96 64 nn f16 epilogue=swiglu"), 8);
  EXPECT_EQ(width("64 88 64 nn f16 epilogue=swiglu"), 4);  // it begins at column 44
  EXPECT_EQ(width("64 88 64 nn f16 epilogue=swiglu:interleaved"), 8);
  EXPECT_EQ(width("64 88 64 nt f16 epilogue=swiglu"), 8);
  EXPECT_EQ(width("64 48 64 nn e4m3 epilogue=swiglu"), 8);
}

TEST(Traits, DoNotDependOnSizes) {
  EXPECT_EQ(traits_of(parse_workload("1 2 3 nn f16 align=2")),
            traits_of(parse_workload("4096 4096 4096 nn f16 align=2")));
}

TEST(Traits, EachHasItsOwnName) {
  EXPECT_EQ(to_string(make_traits({DType::f16, DType::f32}, {Op::n, Op::t})), "f16_f32_nt_a8b8d8_c0");
  std::set<std::string> names;
  std::size_t count = 0;
  std::vector<TypePair> all(std::begin(kAllTypes), std::end(kAllTypes));
  all.insert(all.end(), std::begin(kMixedTypes), std::end(kMixedTypes));
  for (const TypePair& types : all) {
    for (const Layout& layout : kLayouts) {
      for (const bool reads_c : {false, true}) {
        for (int vec = 0; vec < 64; ++vec) {
          GemmTraits traits = make_traits(types, layout, reads_c);
          traits.vec_a = 1 << (vec % 4);
          traits.vec_b = 1 << (vec / 4 % 4);
          traits.vec_d = 1 << (vec / 16);
          names.insert(to_string(traits));
          ++count;
        }
      }
    }
  }
  EXPECT_EQ(names.size(), count);
}

}  // namespace
}  // namespace hotgemm
