// Launches of family wgmma: tensor maps, clusters, persistent blocks, programmatic launches.

#include "context_impl.hpp"
#include "standin/allocation_count.hpp"
#include "standin/runtime_fixture.hpp"

#include "config/render.hpp"
#include "config/traits.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/tensor_map.hpp"
#include "shared/wgmma_config.hpp"

#include <thread>

namespace hotgemm::standin {
namespace {

constexpr WgmmaConfig kAlone{.block_m = 64, .block_n = 64, .consumers = 1, .stages = 3, .blocks_per_sm = 2};
constexpr WgmmaConfig kBelow{.block_m = 128, .block_n = 128, .stages = 3, .cluster_m = 2};
constexpr WgmmaConfig kBeside{.block_m = 128, .block_n = 64, .stages = 3, .cluster_n = 2};

class WgmmaLaunchTest : public RuntimeTest {
 protected:
  /// A plan with this config: a record for the case selects it.
  Plan plan_of(const GemmCase& c, const WgmmaConfig& config, const LaunchConfig& launch = {2, false}) {
    Engine& engine = impl_of(context(Policy::estimate)).engine();
    engine.database.add({.problem = c.described(),
                         .config = config,
                         .launch = launch,
                         .timing = {.median_us = 1, .spread_us = 0.1, .samples = 7, .ratio = 1},
                         .environment = impl_of(context()).current().environment(),
                         .template_digest = engine.template_digest(config)});
    Plan plan = context().plan(c.described());
    EXPECT_EQ(plan.config(), to_string(KernelConfig(config)));
    return plan;
  }
  void expect_right_by(const Plan& plan, const GemmCase& c) {
    expect_right(c, stream(), [&](const Operands& operands) { plan.launch(stream(), operands); });
  }
  /// The number of maps that `call` encodes.
  template <class Call>
  std::size_t encoded_by(Call&& call) const {
    const std::size_t before = standin().calls("cuTensorMapEncodeTiled");
    call();
    return standin().calls("cuTensorMapEncodeTiled") - before;
  }
  /// Device memory for the operands of small_case().
  DeviceBuffer buffer() const { return {driver_, 1 << 16}; }
  static Operands operands_at(const DeviceBuffer& buffer, std::size_t a, std::size_t b, std::size_t d = 0) {
    const auto at = [&](std::size_t offset) { return reinterpret_cast<void*>(buffer.get() + offset); };
    return {.a = at(a), .b = at(b), .c = nullptr, .d = at(d), .lda = 8, .ldb = 16, .ldc = 16, .ldd = 16};
  }
};

TEST_F(WgmmaLaunchTest, IsRightInEveryLayoutAndCluster) {
  std::int64_t k = 64;  // different for each config, so that each has its own class
  for (const WgmmaConfig& config : {kAlone, kBelow, kBeside}) {
    k += 8;
    for (const Op op_a : {Op::n, Op::t}) {
      for (const Op op_b : {Op::n, Op::t}) {
        GemmCase c = small_case(config.block_m + 8, 2 * config.block_n + 8, k, op_a == op_b ? 1 : 0);
        c.problem.op_a = op_a;
        c.problem.op_b = op_b;
        c.set_tight_ld(8);
        expect_right_by(plan_of(c, config), c);
      }
    }
  }
}

TEST_F(WgmmaLaunchTest, BlocksThatStayCoverAnyNumberOfTiles) {
  const GemmCase many = small_case(64 * 20, 64 * 20, 8);  // 400 tiles, 264 blocks
  expect_right_by(plan_of(many, kAlone), many);
}

TEST_F(WgmmaLaunchTest, MapsAreEncodedWhenOperandsChange) {
  const Plan plan = plan_of(small_case(), kAlone);
  const DeviceBuffer memory = buffer();
  const auto launch = [&](std::size_t a, std::size_t b) {
    return encoded_by([&] { plan.launch(stream(), operands_at(memory, a, b)); });
  };
  launch(1024, 2048);  // another test may have used this test's addresses last
  EXPECT_EQ(launch(4096, 8192), 2u);
  EXPECT_EQ(launch(4096, 8192), 0u);
  EXPECT_EQ(launch(4096 + 16, 8192), 1u) << "A is elsewhere";
  EXPECT_EQ(launch(4096 + 16, 8192 + 16), 1u) << "B is elsewhere";
  EXPECT_EQ(launch(4096, 8192), 2u);
  Operands wider = operands_at(memory, 4096, 8192);
  wider.ldb = 24;
  EXPECT_EQ(encoded_by([&] { plan.launch(stream(), wider); }), 1u) << "rows of B are further apart";
  EXPECT_EQ(launch(4096, 8192), 1u);
  EXPECT_EQ(encoded_by([&] { plan.launch(stream(), operands_at(memory, 4096, 8192, 512)); }), 1u) << "D is elsewhere";
  const Plan other = plan_of(small_case(16), kAlone);  // another m changes the maps of A and D
  EXPECT_EQ(encoded_by([&] { other.launch(stream(), operands_at(memory, 4096, 8192, 512)); }), 2u);
  const Plan tall = plan_of(small_case(72), kAlone);  // whole boxes of A and eight more rows; D changes too
  EXPECT_EQ(encoded_by([&] { tall.launch(stream(), operands_at(memory, 4096, 8192, 512)); }), 3u);
}

TEST_F(WgmmaLaunchTest, TheSameMatrixTransposedHasOtherMaps) {
  GemmCase transposed = small_case();
  transposed.problem.op_a = Op::t;
  const Plan as_is = plan_of(small_case(), kAlone), other = plan_of(transposed, kAlone);
  const DeviceBuffer memory = buffer();
  const Operands operands = operands_at(memory, 4096, 8192);  // A is 8 x 8
  as_is.launch(stream(), operands);
  EXPECT_EQ(encoded_by([&] { other.launch(stream(), operands); }), 1u) << "whole boxes, filled up with zeros";
  EXPECT_EQ(encoded_by([&] { as_is.launch(stream(), operands); }), 1u) << "boxes of eight rows";
}

TEST_F(WgmmaLaunchTest, EachThreadHasMapsOfItsOwn) {
  const Plan plan = plan_of(small_case(), kAlone);
  const DeviceBuffer memory = buffer();
  const auto launch = [&] { plan.launch(stream(), operands_at(memory, 4096, 8192)); };
  launch();
  std::thread([&] {
    EXPECT_EQ(driver_.cuCtxSetCurrent(cuda_context_), CUDA_SUCCESS);
    EXPECT_EQ(encoded_by(launch), 3u);
  }).join();
  EXPECT_EQ(encoded_by(launch), 0u);
}

TEST_F(WgmmaLaunchTest, ThereIsNoMapOfWhatIsNotRead) {
  GemmCase c = small_case(8, 16, 8, 1);
  c.alpha = 0;
  const Plan plan = plan_of(c, kAlone);
  EXPECT_EQ(encoded_by([&] { expect_right_by(plan, c); }), 1u) << "of D";
  GemmCase empty = small_case(8, 16, 0, 1);
  const Plan of_empty = plan_of(empty, kAlone);
  EXPECT_LE(encoded_by([&] { expect_right_by(of_empty, empty); }), 1u) << "of D, where it is elsewhere";
}

TEST_F(WgmmaLaunchTest, IsProgrammaticOnlyWhereTheLaunchSaysSo) {
  const GemmCase c = small_case();
  expect_right_by(plan_of(c, kBelow, {2, false, true}), c);
  EXPECT_EQ(standin().calls("cuLaunchKernelEx"), 1u);
  const GemmCase other = small_case(8, 16, 16);
  expect_right_by(plan_of(other, kBelow), other);
  EXPECT_EQ(standin().calls("cuLaunchKernelEx"), 1u);
}

TEST_F(WgmmaLaunchTest, WarmCallsDoNotAllocateWhenOperandsChange) {
  const GemmCase c = small_case();
  const Plan plan = plan_of(c, kAlone);
  const DeviceBuffer memory = buffer();
  DeviceState& state = impl_of(context()).current();
  const GemmTraits traits = traits_of(c.described());
  Engine& engine = state.engine();
  const auto cubin = engine.builder.find(render(kAlone, traits, "sm_90a", engine.bundle));
  const auto kernel = state.load(kAlone, traits, *cubin);
  // The stand-in allocates where the driver would not. So the same driver calls, made here, give the expected count.
  const auto allocations_of = [](auto&& call) {
    const std::size_t before = allocation_count();
    call();
    return allocation_count() - before;
  };
  const Operands bare = operands_at(memory, 4096, 8192);
  const auto driver_calls = [&] {
    WgmmaArgs args{.gemm = {.a = reinterpret_cast<std::uintptr_t>(bare.a),
                            .b = reinterpret_cast<std::uintptr_t>(bare.b),
                            .d = memory.get(),
                            .ldd = 16,
                            .m = 8,
                            .n = 16,
                            .k = 8,
                            .alpha = 1,
                            .raster_width = 2}};
    const TensorMapSpec a = kernel->maps->of_a(bare.a, 8, 8, bare.lda), b = kernel->maps->of_b(bare.b, 16, 8, bare.ldb);
    encode_tensor_map(driver_, box_maps(a, true).rest.value(), args.a_rest);
    encode_tensor_map(driver_, b, args.b);
    encode_tensor_map(driver_, kernel->maps->d->of(bare.d, 8, 16, bare.ldd), args.d);
    void* parameters[] = {&args};
    driver_.cuLaunchKernel(kernel->kernel.function(), 1, 1, 1, static_cast<unsigned>(kernel->shape.threads), 1, 1,
                           static_cast<unsigned>(kernel->shape.smem_bytes), stream(), parameters, nullptr);
  };
  driver_calls();
  const std::size_t least = allocations_of(driver_calls);
  plan.launch(stream(), operands_at(memory, 1024, 2048));
  for (std::size_t i = 0; i < 5; ++i) {
    const Operands operands = operands_at(memory, 4096 + 512 * i, 16384 + 512 * i, 512 * (i + 1));
    EXPECT_EQ(encoded_by([&] { EXPECT_EQ(allocations_of([&] { plan.launch(stream(), operands); }), least); }), 3u);
  }
}

TEST_F(WgmmaLaunchTest, WhatTheDriverDoesNotEncodeIsAnErrorAndNotRemembered) {
  const GemmCase c = small_case();
  const Plan plan = plan_of(c, kAlone);
  for (const int nth : {1, 2}) {
    const DeviceBuffer memory = buffer();
    plan.launch(stream(), operands_at(memory, 1024, 2048));
    standin().fail("cuTensorMapEncodeTiled", nth, CUDA_ERROR_INVALID_VALUE);
    const Operands operands = operands_at(memory, 4096, 8192);
    const std::size_t launches = standin().launches();
    expect_thrown(ErrorCode::driver_error, {"CUDA_ERROR_INVALID_VALUE", plan.config()},
                  [&] { plan.launch(stream(), operands); });
    EXPECT_EQ(standin().launches(), launches);
    EXPECT_EQ(encoded_by([&] { plan.launch(stream(), operands); }), nth == 1 ? 2u : 1u);
    expect_right_by(plan, c);
  }
}

TEST_F(WgmmaLaunchTest, NarrowerAlignmentTakesAnotherFamily) {
  GemmCase c = small_case();
  c.lda = 12;  // rows of 24 bytes
  const Plan plan = context(Policy::estimate).plan(c.described());
  EXPECT_FALSE(plan.config().starts_with("wgmma")) << plan.config();
  expect_right_by(plan, c);
}

}  // namespace
}  // namespace hotgemm::standin
