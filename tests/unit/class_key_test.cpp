#include "config/class_key.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace hotgemm {
namespace {

/// One workload for each field of a problem and its hints. It differs from the first workload in this field only.
std::vector<Workload> one_for_each_field() {
  const Workload base(Problem{.m = 64, .n = 64, .k = 64});
  std::vector<Workload> all{base};
  const auto add = [&](void (*change)(Workload&)) {
    all.push_back(base);
    change(all.back());
  };
  add([](Workload& w) { w.m = 65; });
  add([](Workload& w) { w.n = 65; });
  add([](Workload& w) { w.k = 65; });
  add([](Workload& w) { w.op_a = Op::t; });
  add([](Workload& w) { w.op_b = Op::t; });
  for (int type = 1; type < kElementTypes; ++type) {
    for (DType Types::*matrix : {&Types::a, &Types::b, &Types::c, &Types::d}) {
      all.push_back(base);
      all.back().types.*matrix = static_cast<DType>(type);
    }
  }
  add([](Workload& w) { w.types.compute = ComputeType::f16; });
  add([](Workload& w) { w.types.mode = ComputeMode::fast; });
  add([](Workload& w) { w.order = SumOrder::deterministic; });
  add([](Workload& w) { w.sm_limit = 255; });
  add([](Workload& w) { w.sm_limit = 255 << 8; });
  add([](Workload& w) { w.batch = 2; });
  add([](Workload& w) { w.batch_kind = BatchKind::pointers; });
  add([](Workload& w) { w.group_kind = GroupKind::rows; });
  add([](Workload& w) { w.groups = 1; });
  add([](Workload& w) { w.epilogue.scale_a = Scaling::tensor; });
  add([](Workload& w) { w.epilogue.scale_b = Scaling::tensor; });
  add([](Workload& w) { w.epilogue.bias = Bias::per_column; });
  add([](Workload& w) { w.epilogue.aux = true; });
  add([](Workload& w) { w.epilogue.activation = Activation::relu; });
  add([](Workload& w) { w.epilogue.gate = Gate::halves; });
  add([](Workload& w) { w.epilogue.residual = true; });
  add([](Workload& w) { w.epilogue.amax = true; });
  add([](Workload& w) { w.epilogue.scale_d = true; });
  add([](Workload& w) { w.epilogue.scalars = true; });
  add([](Workload& w) { w.epilogue.function.digest[0] = 1; });
  add([](Workload& w) { w.epilogue.function.digest[1] = 1; });
  add([](Workload& w) { w.epilogue.function.digest[2] = 1; });
  add([](Workload& w) { w.epilogue.function.operands = 1; });
  add([](Workload& w) { w.epilogue.bits = true; });
  add([](Workload& w) { w.epilogue.bias_gradient = Bias::per_column; });
  add([](Workload& w) { w.hints.align_a = 8; });
  add([](Workload& w) { w.hints.align_b = 8; });
  add([](Workload& w) { w.hints.align_d = 8; });
  add([](Workload& w) { w.hints.beta_is_zero = false; });
  add([](Workload& w) { w.hints.workspace = WorkspaceClass::none; });
  return all;
}

TEST(ClassKey, NoFieldAliasesAnother) {
  const std::vector<Workload> all = one_for_each_field();
  std::set<std::size_t> hashes;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(class_key(all[i]) == class_key(all[j])) << i << " " << j;
    hashes.insert(hash_of(class_key(all[i])));
  }
  EXPECT_EQ(hashes.size(), all.size());
}

TEST(ClassKey, IsOneForABucketOfM) {
  Workload a(Problem{.m = 130, .n = 64, .k = 64}), b = a;
  b.m = 144;
  EXPECT_EQ(class_key(a), class_key(b));
  EXPECT_EQ(hash_of(class_key(a)), hash_of(class_key(b)));
  b.m = 145;
  EXPECT_FALSE(class_key(a) == class_key(b));
}

TEST(ClassKey, CountsAreRoundedToPowersOfTwo) {
  EXPECT_EQ(count_bucket(0), 0);
  EXPECT_EQ(count_bucket(1), 1);
  EXPECT_EQ(count_bucket(2), 2);
  EXPECT_EQ(count_bucket(3), 3);
  EXPECT_EQ(count_bucket(4), 3);
  EXPECT_EQ(count_bucket(5), 4);
  EXPECT_EQ(count_bucket(2147483647), 32);
  for (std::int64_t count = 0; count < 1000; ++count) {
    EXPECT_GE(class_count(count), count);
    EXPECT_EQ(count_bucket(class_count(count)), count_bucket(count));
  }
}

// Copies of rows that begin inside a sector are slow, so what is fast for m = 384 says little about m = 344.
TEST(ClassKey, WhereAIsTransposedItsRowsBeginAtTheSamePlaces) {
  for (std::int64_t m = 1; m <= 3000; ++m) {
    const Workload plain(Problem{.m = m, .n = 64, .k = 64}),
        transposed(Problem{.m = m, .n = 64, .k = 64, .op_a = Op::t});
    EXPECT_EQ(largest_of_class(plain).m, class_m(m));
    const Workload largest = largest_of_class(transposed);
    EXPECT_EQ(class_key(largest).class_m, class_m(m));
    EXPECT_EQ(largest.m % 64, m % 64);
    EXPECT_GE(largest.m, m);
    EXPECT_GT(largest.m + 64, class_m(m));
  }
}

TEST(ClassKey, HashesSpread) {
  std::set<std::size_t> buckets;
  for (std::int64_t n = 1; n <= 64; ++n) {
    for (std::int64_t k = 1; k <= 16; ++k) {
      buckets.insert(hash_of(class_key(Workload({.m = 1, .n = 64 * n, .k = 64 * k}))) % 1024);
    }
  }
  EXPECT_GT(buckets.size(), 600u);  // of 1024 keys thrown at random, 647 buckets are hit
}

TEST(ClassKey, TellsAWorkloadOfItsClass) {
  for (const Workload& workload : one_for_each_field()) {
    EXPECT_EQ(class_key(workload_of(class_key(workload))), class_key(workload)) << to_string(workload);
  }
  const Workload ragged(Problem{.m = 3, .n = 5, .k = 7, .batch = 9, .group_kind = GroupKind::rows, .groups = 5});
  EXPECT_EQ(class_key(workload_of(class_key(ragged))), class_key(ragged));
  EXPECT_EQ(workload_of(class_key(ragged)).m, class_m(3));
}

}  // namespace
}  // namespace hotgemm
