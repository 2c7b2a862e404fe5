#include "nvrtc/compile_fixture.hpp"

#include "config/traits.hpp"
#include "gpu/build_id.hpp"
#include "shared/repack_args.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

/// An anchor and its index in the list. The index selects the traits and architectures.
struct Anchor {
  MmaConfig config;
  std::size_t index;
};

std::vector<Anchor> mma_anchors(const GemmTraits& traits, const char* arch) {
  std::vector<Anchor> found;
  for (const KernelConfig& config : anchors(traits, arch_limits(arch))) {
    if (const auto* mma = std::get_if<MmaConfig>(&config)) found.push_back({*mma, found.size()});
  }
  return found;
}

TEST_F(CompileMatrix, EveryAnchorInEveryLayoutAndTypeOnHopper) {
  std::vector<MatrixCase> cases;
  for (const Layout& layout : kLayouts) {
    for (const TypePair& types : kTensorTypes) {
      const GemmTraits traits = make_traits(types, layout);
      for (const Anchor& anchor : mma_anchors(traits, "sm_90a")) {
        cases.push_back(gemm_case(anchor.config, traits, "sm_90a", bundle_));
        cases.back().kind = to_string(KernelConfig(anchor.config));
      }
    }
  }
  ASSERT_GE(cases.size(), 120U);
  compile(cases);
  EXPECT_LE(median_ms(), kMedianMs);
  RecordProperty("median_ms", static_cast<int>(median_ms()));
}

TEST_F(CompileMatrix, EveryAnchorOnEveryArch) {
  // One layout and type for each anchor and architecture. Both rotate from one architecture to the next.
  std::vector<MatrixCase> cases;
  std::map<std::string, std::set<std::string>> layouts, types;
  for (std::size_t a = 0; a < std::size(kTensorArchs); ++a) {
    for (std::size_t t = 0; t < std::size(kTensorTypes); ++t) {
      for (std::size_t l = 0; l < std::size(kLayouts); ++l) {
        const GemmTraits traits = make_traits(kTensorTypes[t], kLayouts[l]);
        for (const Anchor& anchor : mma_anchors(traits, kTensorArchs[a])) {
          if ((anchor.index + a) % std::size(kLayouts) != l || (anchor.index + a) % std::size(kTensorTypes) != t)
            continue;
          cases.push_back(gemm_case(anchor.config, traits, kTensorArchs[a], bundle_));
          cases.back().kind = to_string(KernelConfig(anchor.config));
          layouts[to_string(KernelConfig(anchor.config))].insert(std::to_string(l));
          types[to_string(KernelConfig(anchor.config))].insert(std::to_string(t));
        }
      }
    }
  }
  for (const auto& [config, seen] : layouts) EXPECT_GE(seen.size(), 2U) << config;
  for (const auto& [config, seen] : types) EXPECT_GE(seen.size(), 2U) << config;
  ASSERT_GE(cases.size(), 6 * 9U);
  compile(cases);
  EXPECT_LE(median_ms(), kMedianMs);
  RecordProperty("median_ms", static_cast<int>(median_ms()));
}

/// Anchors for elements of 8 and 32 bits, in the layouts in which lanes put fragments together.
TEST_F(CompileMatrix, EveryAnchorForWordsAndBytesOnEveryArch) {
  constexpr KernelTypes kTypes[] = {{DType::tf32, DType::f32, DType::tf32, DType::f32},
                                    {DType::s8, DType::s32, DType::s8, DType::s32},
                                    {DType::e4m3, DType::f32, DType::e5m2, DType::bf16}};
  std::vector<MatrixCase> cases;
  for (std::size_t a = 0; a < std::size(kTensorArchs); ++a) {
    for (std::size_t t = 0; t < std::size(kTypes); ++t) {
      for (std::size_t l = 0; l < std::size(kLayouts); ++l) {
        GemmTraits traits = aligned_traits(kTypes[t], kLayouts[l], a % 2 == 0);
        traits.fast_sums = is_fp8(traits.element);
        for (const Anchor& anchor : mma_anchors(traits, kTensorArchs[a])) {
          if ((anchor.index + a + t) % std::size(kLayouts) != l) continue;
          cases.push_back(gemm_case(anchor.config, traits, kTensorArchs[a], bundle_));
          cases.back().kind = to_string(traits.element);
        }
      }
    }
  }
  ASSERT_GE(cases.size(), 120U);
  compile(cases);
}

TEST_F(CompileMatrix, NarrowOperandsAndC) {
  // The paths that 16-byte alignment and a zero beta do not use, for a small, a medium and a large anchor.
  std::vector<MatrixCase> cases;
  std::size_t turn = 0;
  for (const char* arch : {"sm_80", "sm_90a", "sm_120"}) {
    for (const int vec : {8, 4, 2, 1}) {
      for (const std::size_t index : {std::size_t{0}, std::size_t{7}, std::size_t{8}}) {
        const GemmTraits traits =
            make_traits(kTensorTypes[turn % std::size(kTensorTypes)], kLayouts[turn % std::size(kLayouts)], true, vec);
        ++turn;
        cases.push_back(gemm_case(mma_anchors(traits, arch).at(index).config, traits, arch, bundle_));
      }
    }
  }
  compile(cases);
}

TEST_F(CompileMatrix, CudaCoresOnEveryArch) {
  std::vector<MatrixCase> cases;
  std::size_t turn = 0;
  for (const std::string& arch : known_archs()) {
    for (const TypePair& types : kAllTypes) {
      if (types.accumulator != DType::f32) continue;
      const int widest = 16 / size_bytes(types.element);
      const GemmTraits traits =
          make_traits(types, kLayouts[turn % std::size(kLayouts)], turn % 2 == 0, turn % 3 == 0 ? 1 : widest);
      auto configs = anchors(traits, arch_limits(arch));
      std::erase_if(configs, [](const KernelConfig& c) { return family_of(c).name != "simt"; });
      ASSERT_FALSE(configs.empty());
      cases.push_back(gemm_case(configs[turn % configs.size()], traits, arch, bundle_));
      ++turn;
    }
    cases.push_back(gemm_case(reference_config(), make_traits(kAllTypes[0], kLayouts[0], true, 1), arch, bundle_));
    for (const TypePair& types : kMixedTypes) {
      const GemmTraits traits = make_traits(types, kLayouts[turn % std::size(kLayouts)], turn % 2 == 0, 4);
      cases.push_back(gemm_case(reference_config(), traits, arch, bundle_));
      ++turn;
    }
  }
  compile(cases);
}

/// One kernel of each family for each architecture that takes it: its first anchor, or the first config of its menu.
/// Layouts and types take turns.
TEST_F(CompileMatrix, EveryFamilyOnEveryArch) {
  std::vector<MatrixCase> cases;
  std::size_t turn = 0;
  for (const Family& family : families()) {
    const std::size_t before = cases.size();
    for (const std::string& arch : known_archs()) {
      // Some types have kernels in one layout only.
      for (std::size_t way = 0; way < std::size(kLayouts); ++way) {
        const KernelTypes& types = family.types[turn % family.types.size()];
        const GemmTraits traits = aligned_traits(types, kLayouts[turn % std::size(kLayouts)], turn % 3 == 0);
        ++turn;
        std::vector<KernelConfig> configs = anchors(traits, arch_limits(arch));
        for (const KernelConfig& config : candidates(traits, arch_limits(arch))) configs.push_back(config);
        const auto is_it = [&](const KernelConfig& c) { return family_of(c).name == family.name; };
        const auto first = std::ranges::find_if(configs, is_it);
        if (first == configs.end()) continue;
        cases.push_back(gemm_case(*first, traits, arch, bundle_));
        break;
      }
    }
    EXPECT_GT(cases.size(), before) << "family " << family.name << " has no kernel to compile on any architecture";
  }
  compile(cases);
}

TEST_F(CompileMatrix, CeilingsOnEveryArch) {
  std::vector<MatrixCase> cases;
  for (const std::string& arch : known_archs()) {
    const auto add = [&](CeilingInstruction instruction) {
      for (const CeilingKind& kind : ceiling_kinds(instruction))
        cases.push_back({render_ceiling(kind, arch, bundle_), arch, kCeilingThreads});
    };
    if (arch_limits(arch).has_cp_async) add(CeilingInstruction::mma);
    if (arch_limits(arch).has_wgmma) add(CeilingInstruction::wgmma);
  }
  compile(cases);
}

TEST_F(CompileMatrix, ChecksOnEveryArch) {
  std::vector<MatrixCase> cases;
  for (const std::string& arch : known_archs()) {
    cases.push_back({render_check(arch, bundle_), arch, 256, 1});
  }
  // hotgemm_check is the name of a unit with several kernels.
  for (const MatrixCase& one : cases) {
    const BuildResult result = builder_->build(one.source);
    ASSERT_TRUE(result.cubin);
    SCOPED_TRACE(one.source.symbol + " for " + one.arch);
    EXPECT_EQ(result.cubin->spill_bytes, 0);
    EXPECT_EQ(local_bytes(result.cubin->image), 0);
    EXPECT_EQ(result.cubin->static_smem_bytes, 0);
    EXPECT_EQ(result.cubin->arch, one.arch);
    const auto& image = result.cubin->image;
    const std::string fill = "hotgemm_fill";
    EXPECT_NE(std::search(image.begin(), image.end(), fill.begin(), fill.end()), image.end());
  }
}

/// Older architectures have no launches that repack, but Context::pack.
TEST_F(CompileMatrix, RepackOnEveryArch) {
  std::vector<MatrixCase> cases;
  for (const std::string& arch : known_archs()) {
    const int blocks = arch_limits(arch).sm >= 120 ? 1 : kRepackBlocksPerSm;
    cases.push_back({render_repack(arch, bundle_), arch, kRepackThreads, blocks});
  }
  compile(cases);
}

TEST_F(CompileMatrix, TheSameSourceGivesTheSameImage) {
  const KernelSource source = render(MmaConfig{}, GemmTraits{}, "sm_90a", bundle_);
  EXPECT_EQ(Nvrtc::get().compile(source, bundle_).image, Nvrtc::get().compile(source, bundle_).image);
}

TEST_F(CompileMatrix, SpillsAreReported) {
  // The accumulators alone need 128 registers, but only 64 are available.
  KernelSource source = render(MmaConfig{}, GemmTraits{}, "sm_90a", bundle_);
  source.options.push_back("--maxrregcount=64");
  const std::string bounds = "__launch_bounds__(kConfig.threads(), kConfig.blocks_per_sm)";
  const std::size_t at = source.text.find(bounds);
  ASSERT_NE(at, std::string::npos);
  source.text.replace(at, bounds.size(), "");
  const Cubin cubin = Nvrtc::get().compile(source, bundle_);
  EXPECT_GT(cubin.spill_bytes, 0);
  EXPECT_GT(local_bytes(cubin.image), 0);
}

TEST_F(CompileMatrix, AnErrorNamesTheTemplatesFileAndLine) {
  namespace fs = std::filesystem;
  std::string directory = (fs::temp_directory_path() / "hotgemm-nvrtc-XXXXXX").string();
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  fs::copy(HOTGEMM_SOURCE_DIR "/templates", directory, fs::copy_options::recursive);
  const fs::path path = fs::path(directory) / "shared" / "tile_order.hpp";
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  std::ofstream(path, std::ios::app) << "static_assert(false, \"spoilt\");\n";
  const TemplateBundle spoilt = TemplateBundle::from_directory(directory);
  fs::remove_all(directory);

  const std::string place = "shared/tile_order.hpp(" + std::to_string(std::ranges::count(text, '\n') + 1) + ")";
  try {
    Nvrtc::get().compile(render(MmaConfig{}, GemmTraits{}, "sm_90a", spoilt), spoilt);
    FAIL() << "compiled";
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_EQ(error.code(), ErrorCode::compile_failed);
    EXPECT_NE(what.find(place), std::string::npos) << what;
    EXPECT_NE(what.find("spoilt"), std::string::npos) << what;
    EXPECT_NE(what.find(directory), std::string::npos) << what;
    EXPECT_NE(what.find(to_string(KernelConfig(MmaConfig{}))), std::string::npos) << what;
  }
}

TEST_F(CompileMatrix, AnIllegalConfigDoesNotCompile) {
  MmaConfig config;
  config.block_m = config.block_n = 256;
  ASSERT_FALSE(is_legal(config, GemmTraits{}, arch_limits("sm_80")));
  EXPECT_THROW(Nvrtc::get().compile(render(config, GemmTraits{}, "sm_80", bundle_), bundle_), Error);
}

TEST_F(CompileMatrix, FailuresOfManyAreResults) {
  MmaConfig illegal;
  illegal.block_m = illegal.block_n = 256;
  const std::vector<KernelSource> sources = {render(illegal, GemmTraits{}, "sm_80", bundle_),
                                             render(MmaConfig{}, GemmTraits{}, "sm_80", bundle_)};
  std::size_t calls = 0;
  const auto results = builder_->build_all(sources, 2, [&](std::size_t, const BuildResult&) { return ++calls > 0; });
  EXPECT_EQ(calls, 2U);
  EXPECT_FALSE(results[0].cubin);
  EXPECT_NE(results[0].failure.find("static assertion"), std::string::npos) << results[0].failure;
  ASSERT_TRUE(results[1].cubin);
  EXPECT_FALSE(results[1].from_cache);
  EXPECT_TRUE(builder_->build(sources[1]).from_cache) << "what was built is kept in memory";
}

TEST_F(CompileMatrix, CompilingDoesNotLoadTheDriver) {
  Nvrtc::get().compile(render(SimtConfig{}, GemmTraits{}, "sm_80", bundle_), bundle_);
  std::ifstream maps("/proc/self/maps");
  ASSERT_TRUE(maps);
  bool has_nvrtc = false;
  for (std::string line; std::getline(maps, line);) {
    has_nvrtc = has_nvrtc || line.find("nvrtc") != std::string::npos;
    EXPECT_EQ(line.find("libcuda.so"), std::string::npos) << line;
    EXPECT_EQ(line.find("libnvidia"), std::string::npos) << line;
    EXPECT_EQ(line.find("/dev/nvidia"), std::string::npos) << line;
  }
  EXPECT_TRUE(has_nvrtc);
}

TEST_F(CompileMatrix, TheToolchainNamesVersionAndBuild) {
  const Nvrtc& nvrtc = Nvrtc::get();
  EXPECT_EQ(&nvrtc, &Nvrtc::get());
  EXPECT_EQ(&nvrtc, Nvrtc::loaded());
  ASSERT_TRUE(nvrtc.toolchain().starts_with("nvrtc-1")) << nvrtc.toolchain();
  const std::string build_id = build_id_of(nvrtc.path());
  EXPECT_GE(build_id.size(), 16U);
  EXPECT_TRUE(nvrtc.toolchain().ends_with("-" + build_id)) << nvrtc.toolchain();
}

}  // namespace
}  // namespace hotgemm
