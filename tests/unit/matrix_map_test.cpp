#include "config/matrix_map.hpp"

#include "shared/address_place.hpp"
#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <utility>

namespace hotgemm {
namespace {

const void* address(std::uintptr_t value) { return reinterpret_cast<const void*>(value); }

TEST(MatrixMap, IsOfTheMatrixAsStored) {
  const MatrixMaps maps = matrix_maps(WgmmaConfig{.cluster_m = 2}, GemmTraits{.op_a = Op::n, .op_b = Op::n}).value();
  const TensorMapSpec a = maps.of_a(address(4096), 100, 200, 208);
  EXPECT_EQ(a.base, 4096u);
  EXPECT_EQ(a.sizes[0], 200u) << "k is contiguous";
  EXPECT_EQ(a.sizes[1], 100u);
  EXPECT_EQ(a.strides[1], 416u);
  EXPECT_EQ(a.box[0], 64u);
  EXPECT_EQ(a.box[1], 128u);
  const TensorMapSpec b = maps.of_b(address(16), 300, 200, 304);
  EXPECT_EQ(b.sizes[0], 300u) << "n is contiguous";
  EXPECT_EQ(b.sizes[1], 200u);
  EXPECT_EQ(b.strides[1], 608u);
  EXPECT_EQ(b.box[0], 64u);
  EXPECT_EQ(b.box[1], 32u) << "the other block of the cluster copies the other half";
}

/// Tensor cores would truncate what the copy engine does not round.
TEST(MatrixMap, OfTf32RoundsOnTheWay) {
  const GemmTraits traits{
      .element = DType::tf32, .element_d = DType::f32, .op_b = Op::t, .vec_a = 4, .vec_b = 4, .vec_d = 4};
  const MatrixMaps maps = matrix_maps(WgmmaConfig{.block_k = 32}, traits).value();
  for (const MatrixMap& map : {maps.a, maps.b}) {
    EXPECT_EQ(element_type(map.fixed.element).tensor_map, TensorMapType::tfloat32);
    EXPECT_EQ(map.fixed.box[0], 32u) << "of 128 bytes";
    EXPECT_EQ(map.fixed.strides[0], 4u);
  }
  EXPECT_EQ(element_type(maps.d.value().fixed.element).tensor_map, TensorMapType::float32);
}

TEST(MatrixMap, RowsThatWholeBoxesLeaveOverHaveAMapOfTheirOwn) {
  const WgmmaConfig config{.block_m = 128, .block_n = 64, .cluster_m = 2};  // the slabs of B are copied in two halves
  const auto rows = [](const BoxMaps& boxes) {
    return std::pair(boxes.whole ? boxes.whole->box[1] : 0u, boxes.rest ? boxes.rest->box[1] : 0u);
  };
  const auto boxes = [&](Op op_a, Op op_b, std::int64_t m, std::int64_t n, std::int64_t k) {
    const MatrixMaps maps = matrix_maps(config, GemmTraits{.op_a = op_a, .op_b = op_b}).value();
    return std::pair(rows(box_maps(maps.of_a(address(16), m, k, 4096), maps.a_is_k_major)),
                     rows(box_maps(maps.of_b(address(16), n, k, 4096), maps.b_is_k_major)));
  };
  EXPECT_EQ(boxes(Op::n, Op::t, 256, 64, 64), std::pair(std::pair(128u, 0u), std::pair(32u, 0u)));
  EXPECT_EQ(boxes(Op::n, Op::t, 129, 63, 1), std::pair(std::pair(128u, 1u), std::pair(32u, 31u)));
  EXPECT_EQ(boxes(Op::n, Op::t, 5, 31, 64), std::pair(std::pair(0u, 5u), std::pair(0u, 31u)));
  EXPECT_EQ(boxes(Op::t, Op::n, 5, 3, 1), std::pair(std::pair(64u, 0u), std::pair(32u, 0u))) << "rows along k";

  const MatrixMaps maps = matrix_maps(config, GemmTraits{.op_a = Op::n, .op_b = Op::t}).value();
  TensorMapSpec a = maps.of_a(address(16), 200, 100, 104);
  const TensorMapSpec rest = box_maps(a, maps.a_is_k_major).rest.value();
  a.box[1] = 72;
  EXPECT_EQ(rest, a) << "it is of the same matrix";
}

TEST(MatrixMap, BoxesOfASquareAreWhole) {
  const WgmmaConfig square{.block_n = 128, .cluster_m = 2, .cluster_n = 2}, line{.block_n = 128, .cluster_m = 4};
  const auto maps = [](const WgmmaConfig& config) {
    return matrix_maps(config, GemmTraits{.op_a = Op::n, .op_b = Op::t}).value();
  };
  EXPECT_TRUE(maps(line).cuts_a && maps(line).cuts_b);
  EXPECT_FALSE(maps(square).cuts_a || maps(square).cuts_b);
}

TEST(MatrixMap, SmallOperandsArePrefetchedWhole) {
  const MatrixMaps maps = matrix_maps(WgmmaConfig{}, GemmTraits{.op_a = Op::n, .op_b = Op::n}).value();
  const auto bytes = [&](std::int64_t m, std::int64_t n, std::int64_t k, std::int64_t lda, std::int64_t blocks = 132) {
    return prefetch_bytes(maps.of_a(address(16), m, k, lda), maps.of_b(address(16), n, k, (n + 7) / 8 * 8), blocks);
  };
  EXPECT_EQ(bytes(100, 200, 64, 64), (PrefetchBytes{100 * 64 * 2, 64 * 200 * 2}));
  EXPECT_EQ(bytes(100, 200, 60, 60), (PrefetchBytes{100 * 60 * 2, 60 * 200 * 2}));
  EXPECT_EQ(bytes(100, 200, 60, 72), (PrefetchBytes{0, 60 * 200 * 2})) << "not what lies between rows";
  EXPECT_EQ(bytes(100, 203, 64, 64), (PrefetchBytes{100 * 64 * 2, 0}));
  EXPECT_EQ(bytes(1, 200, 68, 72), (PrefetchBytes{68 * 2 / 16 * 16, 68 * 200 * 2})) << "one row, whole chunks";
  EXPECT_EQ(bytes(1, 8, 4, 80), (PrefetchBytes{0, 4 * 8 * 2})) << "less than a chunk";
  EXPECT_EQ(bytes(1024, 1024, 2048, 2048), (PrefetchBytes{4 << 20, 4 << 20}));
  EXPECT_EQ(bytes(1025, 1024, 2048, 2048), PrefetchBytes{}) << "together more than 8 MiB";
  EXPECT_EQ(bytes(64, 64, 512, 512, 2), (PrefetchBytes{64 << 10, 64 << 10}));
  EXPECT_EQ(bytes(64, 64, 520, 520, 2), PrefetchBytes{}) << "more than 64 KiB for each block";
  EXPECT_EQ(bytes(0x7fffffff, 8, 0x7fffffff, 0x7fffffff), PrefetchBytes{});
}

TEST(MatrixMap, OfABatchByPointersReachesEveryAddress) {
  const GemmTraits traits{.op_a = Op::n, .op_b = Op::t, .batched = true, .pointers = true};
  const MatrixMaps maps = matrix_maps(WgmmaConfig{}, traits).value();
  for (const TensorMapSpec& map : {maps.of_a(nullptr, 100, 64, 72), maps.of_b(address(4096), 200, 64, 72),
                                   maps.d.value().of(address(8), 100, 200, 208)}) {
    EXPECT_NO_THROW(validate(map));
    EXPECT_EQ(map.rank, 4);
    for (const std::uint64_t at :
         {std::uint64_t{16}, std::uint64_t{0xffffff0}, std::uint64_t{0x10000000}, std::uint64_t{0x10000010},
          std::uint64_t{0x7f03320004d0}, (std::uint64_t{1} << kAddressBits) - 16}) {
      const AddressPlace place = place_of(at);
      ASSERT_LT(static_cast<std::uint64_t>(place.chunk), map.sizes[2]);
      ASSERT_LT(static_cast<std::uint64_t>(place.window), map.sizes[3]);
      EXPECT_EQ(map.base + static_cast<std::uint64_t>(place.chunk) * map.strides[2] +
                    static_cast<std::uint64_t>(place.window) * map.strides[3],
                at);
    }
  }
  EXPECT_FALSE(place_of(0x1008).is_valid());
  EXPECT_EQ(maps.of_a(address(16), 100, 64, 72), maps.of_a(address(32), 100, 64, 72)) << "one map for all calls";
}

TEST(MatrixMap, OnlyWgmmaHasThem) {
  EXPECT_FALSE(matrix_maps(MmaConfig{}, GemmTraits{}));
  EXPECT_FALSE(matrix_maps(WgmmaConfig{}, GemmTraits{.vec_d = 4})->d) << "the copy engine stores whole 16 bytes";
  EXPECT_TRUE(matrix_maps(WgmmaConfig{}, GemmTraits{})->d);
  EXPECT_FALSE(matrix_maps(SimtConfig{}, GemmTraits{}));
}

TEST(MatrixMap, IsValidForEveryCandidateAndWhateverOperandsMayBe) {
  constexpr std::int64_t kLargest = 0x7fffffff;
  std::size_t count = 0;
  for (const TypePair& types : kTensorTypes) {
    for (const Layout& layout : kLayouts) {
      const GemmTraits traits = make_traits(types, layout);
      for (const KernelConfig& config : candidates(traits, arch_limits("sm_90a"))) {
        const auto maps = matrix_maps(config, traits);
        if (!maps) continue;
        ++count;
        for (const MatrixMap& map : {maps->a, maps->b, maps->d.value_or(maps->a)}) {
          ASSERT_NO_THROW(validate(map.of(address(16), 1, 1, 8))) << to_string(config);
          ASSERT_NO_THROW(validate(map.of(address(4096), kLargest, kLargest, 1 << 30))) << to_string(config);
        }
      }
    }
  }
  EXPECT_GE(count, 500u);
}

}  // namespace
}  // namespace hotgemm
