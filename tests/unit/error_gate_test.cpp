#include "config/error_gate.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

enum class Rounding { to_nearest, to_zero };
enum class Data { normal, uniform, integers, same_sign };

/// `value` rounded to a number of `dtype`, as if the exponent had no upper end.
double round_to(DType dtype, double value, Rounding rounding = Rounding::to_nearest) {
  int exponent = 0;
  std::frexp(value, &exponent);  // |value| is in [2^(exponent - 1), 2^exponent)
  const double ulp =
      std::max(std::ldexp(element_type(dtype).unit_roundoff, exponent), 2 * element_type(dtype).half_subnormal);
  return (rounding == Rounding::to_nearest ? std::nearbyint(value / ulp) : std::trunc(value / ulp)) * ulp;
}

/// The sums of a correct kernel: it adds `block` products exactly, and then rounds the accumulator once.
struct Adder {
  int block = 1;
  Rounding rounding = Rounding::to_nearest;
};

/// One element of D: the exact value, the magnitude for its gate, and the result of a kernel.
struct Element {
  double exact = 0;
  double magnitude = 0;
  double found = 0;
};

Problem problem_of(DType dtype, DType accumulator, std::int64_t k) {
  const ComputeType compute = accumulator == DType::f16 ? ComputeType::f16 : ComputeType::f32;
  return {.m = 16, .n = 16, .k = k, .types = uniform_types(dtype, compute)};
}

/// Random numbers of `dtype`, drawn from a pool, because rounding each number anew would take long.
class Values {
 public:
  Values(DType dtype, Data data, double scale, unsigned seed) : state_(seed) {
    std::mt19937 random(seed);
    std::normal_distribution<double> normal;
    std::uniform_real_distribution<double> uniform(-1, 1);
    for (double& value : pool_) {
      value = data == Data::normal     ? normal(random)
              : data == Data::uniform  ? uniform(random)
              : data == Data::integers ? static_cast<double>(random() % 5) - 2
                                       : std::abs(uniform(random));
      value = round_to(dtype, scale * value);
    }
  }
  double next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return pool_[state_ >> 52];
  }

 private:
  std::array<double, 4096> pool_{};
  std::uint64_t state_;
};

Element element_of(const Problem& p, const Adder& adder, Values& values, double alpha = 1) {
  Element e;
  double sum = 0, block = 0;
  for (std::int64_t l = 0; l < p.k; ++l) {
    const double product = values.next() * values.next();
    e.exact += product;
    e.magnitude += std::abs(product);
    block += product;
    if ((l + 1) % adder.block != 0 && l + 1 != p.k) continue;
    sum = round_to(sum_type(p.types.compute), sum + block, adder.rounding);
    block = 0;
  }
  e.exact *= alpha;
  e.magnitude *= std::abs(alpha);
  e.found = round_to(p.types.d, alpha * sum);
  return e;
}

double ratio(const Problem& p, const Element& e, double found, double alpha = 1) {
  return std::abs(found - e.exact) / error_gate(p, e.exact, e.magnitude, alpha);
}

struct Sums {
  DType dtype;
  DType accumulator;
  Adder adder;
};
constexpr Sums kSums[] = {
    {DType::f16, DType::f16, {1, Rounding::to_nearest}}, {DType::f16, DType::f16, {16, Rounding::to_nearest}},
    {DType::f16, DType::f16, {16, Rounding::to_zero}},   {DType::f16, DType::f32, {16, Rounding::to_zero}},
    {DType::bf16, DType::f32, {16, Rounding::to_zero}},  {DType::f32, DType::f32, {1, Rounding::to_nearest}},
    {DType::f32, DType::f32, {16, Rounding::to_zero}},
};
constexpr std::int64_t kDepths[] = {1, 2, 7, 16, 17, 64, 257, 1024, 3200, 4096, 8192, 16384};

constexpr int elements_at(std::int64_t k) { return k > 4096 ? 48 : 96; }

template <class Judge>
void for_each_sum(Judge&& judge) {
  for (const Sums& sums : kSums) {
    for (const Data data : {Data::normal, Data::uniform, Data::integers}) {
      for (const std::int64_t k : kDepths) {
        if (k > 4096 && (sums.accumulator != DType::f16 || data == Data::integers)) continue;
        SCOPED_TRACE(std::string(to_string(sums.dtype)) + " in " + std::string(to_string(sums.accumulator)) +
                     ", blocks of " + std::to_string(sums.adder.block) + ", data " +
                     std::to_string(static_cast<int>(data)) + ", k " + std::to_string(k));
        judge(problem_of(sums.dtype, sums.accumulator, k), sums.adder, data);
      }
    }
  }
}

TEST(ErrorGate, RefusesZerosAndPassesWhatIsRoundedRightAtManyDepths) {
  for_each_sum([](const Problem& p, const Adder& adder, Data data) {
    Values values(p.types.d, data, 1, static_cast<unsigned>(p.k));
    double worst = 0, worst_of_zeros = 0;
    for (int i = 0; i < elements_at(p.k); ++i) {
      const Element e = element_of(p, adder, values);
      worst = std::max(worst, ratio(p, e, e.found));
      worst_of_zeros = std::max(worst_of_zeros, ratio(p, e, 0));
    }
    EXPECT_LE(worst, 1);
    EXPECT_GT(worst_of_zeros, 1);
  });
}

// N(0,1) data: a sum of a typical size, sqrt(k), where the mean of |product| is 2/pi.
TEST(ErrorGate, RefusesZerosUpToTheLargestDepthAndHasNoGateBeyond) {
  for (const auto& [accumulator, largest] :
       {std::pair(DType::f16, std::int64_t{1} << 14), std::pair(DType::f32, std::int64_t{1} << 27)}) {
    for (const DType dtype : {DType::f16, DType::bf16, DType::f32}) {
      Problem p = problem_of(dtype, accumulator, largest);
      EXPECT_EQ(max_gated_k(p.types), largest);
      const auto gate = [&] {
        const auto k = static_cast<double>(p.k);
        return error_gate(p, std::sqrt(k), k * 2 / std::numbers::pi) / std::sqrt(k);
      };
      EXPECT_LT(gate(), 1);
      p.k = largest + 1;
      EXPECT_THROW(gate(), Error);
      p.k = kMaxSize;
      EXPECT_THROW(gate(), Error);
    }
  }
  EXPECT_EQ(max_gated_k(kS8), kMaxSize);  // sums of integers are exact
}

/// A sum of FP8 products as tensor cores of Hopper compute it, 32 products at a time, promoted after every `interval`.
double fp8_sum(std::span<const double> products, std::size_t interval) {
  double sum = 0, part = 0;
  for (std::size_t first = 0; first < products.size(); first += 32) {
    const auto of = products.subspan(first, std::min<std::size_t>(32, products.size() - first));
    double largest = std::abs(part);
    for (const double product : of) largest = std::max(largest, std::abs(product));
    const double unit = std::ldexp(1.0, std::ilogb(largest) - 13);
    double next = std::trunc(part / unit) * unit;
    for (const double product : of) next += std::trunc(product / unit) * unit;
    part = next;
    if ((first + 32) % interval == 0) sum += std::exchange(part, 0);
  }
  return sum + part;
}

TEST(ErrorGate, SeparatesFp8SumsFromZerosAndPreciseOnesFromFastOnes) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  for (const std::int64_t k : {64, 512, 4096, 16384}) {
    double worst_fast_as_precise = 0;
    for (const bool has_one_sign : {false, true}) {
      for (int turn = 0; turn < 200; ++turn) {
        std::vector<double> products(static_cast<std::size_t>(k));
        double exact = 0, magnitude = 0;
        for (double& product : products) {
          const auto number = [&] { return round_to(DType::e4m3, normal(random)); };
          product = number() * number();
          if (has_one_sign) product = std::abs(product);
          exact += product;
          magnitude += std::abs(product);
        }
        Problem p{.m = 1, .n = 1, .k = k, .types = kE4m3};
        p.types.c = p.types.d = DType::f32;
        const double precise = std::abs(fp8_sum(products, 128) - exact),
                     fast = std::abs(fp8_sum(products, SIZE_MAX) - exact);
        EXPECT_LE(precise, error_gate(p, exact, magnitude)) << k;
        worst_fast_as_precise = std::max(worst_fast_as_precise, fast / error_gate(p, exact, magnitude));
        p.types.mode = ComputeMode::fast;
        EXPECT_LE(fast, error_gate(p, exact, magnitude)) << k;
        if (has_one_sign) {
          EXPECT_GT(exact, error_gate(p, exact, magnitude)) << "zeros pass at k = " << k;
        }
      }
    }
    if (k >= 4096) {
      EXPECT_GT(worst_fast_as_precise, 1) << "fast sums pass as precise ones at k = " << k;
    }
  }
}

TEST(ErrorGate, PassesSumsOfOneSignInF32) {
  for (const std::int64_t k : kDepths) {
    const Problem p = problem_of(DType::f32, DType::f32, k);
    Values values(p.types.d, Data::same_sign, 1, 5);
    for (int i = 0; i < 32; ++i) {
      const Element e = element_of(p, {16, Rounding::to_zero}, values);
      EXPECT_LE(ratio(p, e, e.found), 1) << k;
      EXPECT_GT(ratio(p, e, 0), 1) << k;
    }
  }
}

// The rounding of a subnormal has an error of up to the smallest subnormal, however small the sum is. alpha multiplies
// this error.
TEST(ErrorGate, PassesTinyDataThatIsRoundedRight) {
  for (const Sums& sums : kSums) {
    for (const double scale : {0x1p-6, 0x1p-8, 0x1p-10, 0x1p-12, 0x1p-14, 0x1p-20, 0x1p-24}) {
      for (const std::int64_t k : {1, 16, 64, 1000, 4096}) {
        for (const double alpha : {1.0, -3.0, 1024.0}) {
          const Problem p = problem_of(sums.dtype, sums.accumulator, k);
          Values values(p.types.d, Data::normal, scale, 11);
          for (int i = 0; i < 16; ++i) {
            const Element e = element_of(p, sums.adder, values, alpha);
            ASSERT_LE(ratio(p, e, e.found, alpha), 1)
                << to_string(sums.dtype) << " in " << to_string(sums.accumulator) << " scale " << scale << " k " << k
                << " alpha " << alpha << ": " << e.found << " for " << e.exact;
          }
        }
      }
    }
  }
}

TEST(ErrorGate, RefusesZerosWhereSumsAreAboveTheSubnormals) {
  const Problem p = problem_of(DType::f16, DType::f16, 64);
  Values values(p.types.d, Data::normal, 0x1p-6, 3);  // sums of about 2^-9
  double worst = 0;
  for (int i = 0; i < 64; ++i) worst = std::max(worst, ratio(p, element_of(p, {}, values), 0));
  EXPECT_GT(worst, 1);
}

TEST(ErrorGate, RefusesALostTermWhereSumsAreShort) {
  for (const Sums& sums : kSums) {
    const Problem p = problem_of(sums.dtype, sums.accumulator, 16);
    Values values(p.types.d, Data::uniform, 1, 3);
    for (int i = 0; i < 64; ++i) {
      const Element e = element_of(p, sums.adder, values);
      EXPECT_GT(ratio(p, e, e.exact + e.magnitude / 4), 1) << i;
    }
  }
}

}  // namespace
}  // namespace hotgemm
