#include "config/traits.hpp"

#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace hotgemm {
namespace {

TEST(Traits, HoldWhatTheProblemFixes) {
  const Problem problem = parse_problem("128x256x64 tn bf16 f32 a16 b8 d4 beta1");
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
  Problem problem = parse_problem("128x256x64 nt f32 f32 a16 b8 d4 beta0");
  GemmTraits traits = traits_of(problem);
  EXPECT_EQ(traits.vec_a, 4);
  EXPECT_EQ(traits.vec_b, 2);
  EXPECT_EQ(traits.vec_d, 1);
  EXPECT_FALSE(traits.reads_c);
  EXPECT_TRUE(traits.a_is_k_major());
  EXPECT_TRUE(traits.b_is_k_major());
}

TEST(Traits, DoNotDependOnSizes) {
  EXPECT_EQ(traits_of(parse_problem("1x2x3 nn f16 f32 a2 b2 d2 beta0")),
            traits_of(parse_problem("4096x4096x4096 nn f16 f32 a2 b2 d2 beta0")));
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
