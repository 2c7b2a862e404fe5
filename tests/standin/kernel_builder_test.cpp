#include "gpu/kernel_builder.hpp"

#include "config/render.hpp"
#include "config/traits.hpp"
#include "gpu/nvrtc.hpp"
#include "standin/runtime_fixture.hpp"

namespace hotgemm::standin {
namespace {

TEST(KernelBuilder, AnotherToolchainsCubinIsNotReusedForMeasuring) {
  BinaryCacheOptions options;
  options.mode = CacheMode::off;
  BinaryCache cache(options);
  const TemplateBundle bundle = TemplateBundle::embedded();
  KernelBuilder builder(cache, bundle);
  int compiled = 0;
  builder.compile_with([&](const KernelSource& source) {
    ++compiled;
    return Cubin{.image = {1}, .symbol = source.symbol, .arch = "sm_90a", .toolchain = Nvrtc::get().toolchain()};
  });
  const KernelSource source = render(SimtConfig{}, GemmTraits{}, "sm_90a", bundle);
  cache.store(source.identity,
              {.image = {2}, .symbol = source.symbol, .arch = "sm_90a", .toolchain = "nvrtc-12.0-other"});
  Nvrtc::get();
  EXPECT_EQ(builder.build(source).cubin->toolchain, "nvrtc-12.0-other");
  EXPECT_EQ(compiled, 0);
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(builder.build(source, {.reuse = Reuse::loaded_toolchain}).cubin->toolchain, Nvrtc::get().toolchain());
    EXPECT_EQ(compiled, 1);
  }
  EXPECT_TRUE(builder.build(source).from_cache);
}

}  // namespace
}  // namespace hotgemm::standin
