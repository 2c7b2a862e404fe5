#include "config/traits.hpp"

#include "unit/plan_fixture.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>

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

TEST(Traits, NoKernelTakesWhatIsNotSupported) {
  EXPECT_THROW(traits_of(parse_workload("64 64 64 nn e4m3")), Error);
  EXPECT_THROW(traits_of(parse_workload("64 64 64 nn bf16*bf16>f32")), Error);
  EXPECT_THROW(traits_of(parse_workload("64 64 64 nn f16 batch=2")), Error);
  EXPECT_THROW(traits_of(parse_workload("64 64 64 nn f16 epilogue=bias")), Error);
}

TEST(Traits, DoNotDependOnSizes) {
  EXPECT_EQ(traits_of(parse_workload("1 2 3 nn f16 align=2")),
            traits_of(parse_workload("4096 4096 4096 nn f16 align=2")));
}

TEST(Traits, EachHasItsOwnName) {
  EXPECT_EQ(to_string(make_traits({DType::f16, DType::f32}, {Op::n, Op::t})), "f16_f32_nt_a8b8d8_c0");
  std::set<std::string> names;
  std::size_t count = 0;
  for (const TypePair& types : kAllTypes) {
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
