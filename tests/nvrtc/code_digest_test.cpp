#include "nvrtc/nvrtc_fixture.hpp"

#include "gpu/code_digest.hpp"

#include "config/expanded_source.hpp"
#include "config/render.hpp"
#include "config/traits.hpp"
#include "gpu/nvrtc.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace hotgemm {
namespace {

using Image = std::vector<std::uint8_t>;

/// Tests code_digest on cubins from NVRTC.
class CodeDigestOfCubins : public NvrtcTest {
 protected:
  Image compile(const SimtConfig& config, const std::string& rename_to = {}) {
    const Workload problem{Problem{.m = 256, .n = 256, .k = 256, .types = kF32}};
    KernelSource source = render(config, traits_of(problem), "sm_90a", bundle_);
    if (!rename_to.empty()) {
      source.text.replace(source.text.find(source.symbol), source.symbol.size(), rename_to);
      source.symbol = rename_to;
    }
    return Nvrtc::get().compile(source, bundle_).image;
  }

  TemplateBundle bundle_ = TemplateBundle::embedded();
};

TEST_F(CodeDigestOfCubins, NamesDoNotCountAndTilesDo) {
  const SimtConfig config{.block_m = 64, .block_n = 64, .block_k = 16, .thread_m = 4, .thread_n = 4};
  const Image image = compile(config), renamed = compile(config, "hotgemm_by_another_name");
  EXPECT_NE(image, renamed);
  ASSERT_TRUE(code_digest(image));
  EXPECT_EQ(code_digest(image), code_digest(renamed));
  SimtConfig other = config;
  other.block_n = 32;
  EXPECT_NE(code_digest(image), code_digest(compile(other)));
}

/// `hotgemm show --source` prints the whole kernel.
TEST_F(CodeDigestOfCubins, AnExpandedSourceIsTheSameKernelWithoutTemplates) {
  const SimtConfig config{.block_m = 64, .block_n = 64, .block_k = 16, .thread_m = 4, .thread_n = 4};
  KernelSource source =
      render(config, traits_of(Workload{Problem{.m = 256, .n = 256, .k = 256, .types = kF32}}), "sm_90a", bundle_);
  source.text = expanded_source(source, bundle_);
  const Cubin cubin = Nvrtc::get().compile(source, TemplateBundle::from_files("no templates", {}));
  EXPECT_EQ(code_digest(cubin.image), code_digest(compile(config)));
}

TEST_F(CodeDigestOfCubins, DamagedImagesAreRefusedOrRead) {
  const Image image = compile({.block_m = 64, .block_n = 64, .block_k = 16, .thread_m = 4, .thread_n = 4});
  for (std::size_t size = 0; size < image.size(); size += 61) {
    code_digest(Image(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size)));
  }
  for (std::size_t bit = 0; bit < 8 * image.size(); bit += 127) {
    Image flipped = image;
    flipped[bit / 8] = static_cast<std::uint8_t>(flipped[bit / 8] ^ (1U << (bit % 8)));
    code_digest(flipped);
  }
}

}  // namespace
}  // namespace hotgemm
