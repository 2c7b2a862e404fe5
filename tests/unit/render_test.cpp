#include "config/render.hpp"

#include "config/traits.hpp"
#include "unit/plan_fixture.hpp"

#include <gtest/gtest.h>

#include <stdlib.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

namespace hotgemm {
namespace {

namespace fs = std::filesystem;

struct GoldenCase {
  const char* config;
  const char* problem;
};
constexpr GoldenCase kGolden[] = {
    {"mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1", "8 8 8 nn f16"},
    {"mma_m128_n128_k32_wm2_wn2_s3_x1_f2_e1_b1", "8 8 8 nt f16 acc=f16"},
    {"mma_m128_n256_k64_wm2_wn4_s3_x1_f1_e1_b1", "8 8 8 tn bf16"},
    {"mma_m64_n64_k64_wm2_wn2_s4_x1_f2_e1_b2", "8 8 8 tt f16 align=16 beta=1"},
    {"mma_m96_n64_k32_wm2_wn2_s3_x0_f2_e1_b1", "8 8 8 nn f16"},
    {"mma_m16_n64_k64_wm1_wn4_s4_x1_f2_e0_b1", "8 8 8 nt f16 align=8,4,2"},
    {"wgmma_m128_n256_k64_c2_sn0_pp0_o0_s4_cm1_cn1_b1", "8 8 8 nt f16"},
    {"wgmma_m64_n64_k64_c1_sn0_pp0_o0_s4_cm1_cn1_b2", "8 8 8 tn bf16 align=16,16,2 beta=1"},
    {"wgmma_m128_n128_k64_c2_sn0_pp0_o0_s4_cm2_cn1_b1", "8 8 8 nn f16 acc=f16"},
    {"wgmma_m72_n128_k64_c2_sn1_pp0_o0_s4_cm1_cn1_b1_t1", "8 8 8 nn bf16 beta=1"},
    {"wgmma_m128_n64_k64_c2_sn0_pp0_o1_s6_cm1_cn1_b1_sk1", "8 8 8 nt f16"},
    {"wgmma_m128_n64_k64_c2_sn0_pp0_o0_s4_cm1_cn1_b1_th2", "8 8 8 nn f16 align=2,16,2"},
    {"wgmma_m128_n192_k128_c2_sn0_pp0_o0_s4_cm2_cn1_b1_pr1", "16 16 16 nt e4m3*e5m2>bf16"},
    {"wgmma_m128_n256_k128_c2_sn0_pp0_o0_s4_cm1_cn1_b1", "16 16 16 nt e4m3*e4m3>bf16 acc=f32,fast"},
    {"wgmma_m80_n128_k128_c2_sn1_pp0_o0_s4_cm1_cn1_b1_t1", "16 16 16 nt s8 beta=1"},
    {"wmma_m128_n128_k16_wm4_wn2_fm16_s1_a0_p0_b1", "8 8 8 nn f16 acc=f16"},
    {"wmma_m128_n128_k16_wm2_wn4_fm32_s2_a1_p1_b1", "8 8 8 tt bf16 align=16,4,2 beta=1"},
    {"fma_m128_n128_k8_tm8_tn8_s2_v4_p1_x1_a0_b1", "8 8 8 nn f32"},
    {"simt_m64_n64_k16_tm4_tn4", "8 8 8 nn f16"},
    {"simt_m8_n64_k32_tm1_tn4", "8 8 8 tt bf16 align=2 beta=1"},
    {"simt_m128_n128_k8_tm8_tn8", "8 8 8 nt f32"},
    {"simt_m64_n64_k16_tm4_tn4", "8 8 8 tn f32 align=4 beta=1"},
    {"simt_m64_n64_k16_tm4_tn4", "8 8 8 nt e4m3*e5m2>f32"},
    {"simt_m64_n64_k16_tm4_tn4", "8 8 8 tn s8 beta=1"},
    {"simt_m64_n64_k16_tm4_tn4", "8 8 8 nn f16 epilogue=scale_a+scale_b:vector+bias:row+aux+residual+scale_d+scalars"},
    {"simt_m64_n64_k16_tm4_tn4", "8 8 8 nn f16 epilogue=bias+aux:bits+relu+bias_gradient"},
    {"wgmma_m128_n256_k64_c2_sn0_pp0_o0_s4_cm1_cn1_b1", "8 8 8 nt bf16 epilogue=bias+gelu_erf"},
    {"wgmma_m128_n256_k64_c2_sn0_pp0_o0_s4_cm1_cn1_b1", "8 8 8 nt bf16 groups=4"},
    {"wgmma_m128_n256_k64_c2_sn0_pp0_o0_s4_cm1_cn1_b1", "8 8 8 nt bf16 batch=2,pointers"},
};

GemmTraits traits_of_text(const char* problem) { return traits_of(parse_workload(problem)); }

/// Compares with tests/golden/<name>.cu. With HOTGEMM_UPDATE_GOLDEN=1 it writes the file instead.
void expect_golden(const std::string& name, const std::string& text, std::set<std::string>& names) {
  const fs::path path = fs::path(HOTGEMM_SOURCE_DIR) / "tests" / "golden" / (name + ".cu");
  names.insert(path.filename().string());
  const char* update = std::getenv("HOTGEMM_UPDATE_GOLDEN");
  if (update != nullptr && std::string(update) == "1") {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path << " is missing; HOTGEMM_UPDATE_GOLDEN=1 writes it";
  const std::string expected{std::istreambuf_iterator<char>(file), {}};
  EXPECT_EQ(text, expected) << path << "; if the change is intended, HOTGEMM_UPDATE_GOLDEN=1 rewrites the file";
}

TEST(Render, IsWhatTheGoldenFilesSay) {
  const TemplateBundle bundle = TemplateBundle::embedded();
  std::set<std::string> names;
  for (const GoldenCase& golden : kGolden) {
    const auto config = parse_config(golden.config);
    ASSERT_TRUE(config) << golden.config;
    const GemmTraits traits = traits_of_text(golden.problem);
    ASSERT_TRUE(is_legal(*config, traits, arch_limits("sm_90a"))) << golden.config;
    const KernelSource source = render(*config, traits, "sm_90a", bundle);
    expect_golden(source.symbol, source.text, names);
  }
  expect_golden("hotgemm_check", render_check("sm_90a", bundle).text, names);
  expect_golden("hotgemm_repack", render_repack("sm_90a", bundle).text, names);
  for (const CeilingInstruction instruction : {CeilingInstruction::mma, CeilingInstruction::wgmma}) {
    const KernelSource source = render_ceiling({.instruction = instruction}, "sm_90a", bundle);
    expect_golden(source.symbol, source.text, names);
  }

  std::set<std::string> on_disk;
  for (const auto& entry : fs::directory_iterator(HOTGEMM_SOURCE_DIR "/tests/golden")) {
    on_disk.insert(entry.path().filename().string());
  }
  EXPECT_EQ(on_disk, names) << "a golden file that no test uses";
}

TEST(Render, SymbolsAreIdentifiersAndDistinct) {
  const TemplateBundle bundle = TemplateBundle::embedded();
  std::set<std::string> symbols;
  std::size_t count = 0;
  for (const TypePair& types : kAllTypes) {
    for (const Layout& layout : kLayouts) {
      const GemmTraits traits = make_traits(types, layout, layout.op_a == Op::t);
      for (const KernelConfig& config : anchors(traits, arch_limits("sm_90a"))) {
        const KernelSource source = render(config, traits, "sm_90a", bundle);
        ++count;
        symbols.insert(source.symbol);
        ASSERT_TRUE(std::ranges::all_of(source.symbol, [](unsigned char c) { return std::isalnum(c) || c == '_'; }))
            << source.symbol;
        ASSERT_TRUE(source.symbol.starts_with("hotgemm_"));
        ASSERT_NE(source.text.find("\n" + source.symbol + "(const __grid_constant__"), std::string::npos)
            << source.text;
      }
    }
  }
  EXPECT_EQ(symbols.size(), count);
}

TEST(Render, AUnitIsAboutTenLines) {
  const KernelSource source = render(MmaConfig{}, GemmTraits{}, "sm_80", TemplateBundle::embedded());
  EXPECT_LE(std::ranges::count(source.text, '\n'), 12);
  EXPECT_TRUE(source.text.ends_with("\n"));
}

TEST(Render, AddedFieldsAreWrittenWhereTheyDiffer) {
  const auto text = [](const MmaConfig& config) {
    return render(config, GemmTraits{}, "sm_80", TemplateBundle::embedded()).text;
  };
  const MmaConfig tuned;
  MmaConfig::visit_fields(tuned, [&](const ConfigField& field, auto) {
    EXPECT_EQ(text(tuned).find("." + std::string(field.name) + " = ") == std::string::npos, field.is_added)
        << field.name;
  });
  const std::string rung = text({.swizzle = false, .padded = false, .b_matrices = 2});
  EXPECT_NE(rung.find(".blocks_per_sm = 1, .padded = false, .b_matrices = 2}"), std::string::npos) << rung;
}

TEST(Render, OptionsNeedNoDriverAndShowSpills) {
  const KernelSource source = render(MmaConfig{}, GemmTraits{}, "sm_90a", TemplateBundle::embedded());
  for (const char* option :
       {"--gpu-architecture=sm_90a", "--std=c++20", "--no-cache", "--modify-stack-limit=false", "--ptxas-options=-v"}) {
    EXPECT_EQ(std::ranges::count(source.options, option), 1) << option;
  }
}

class RenderIdentity : public testing::Test {
 protected:
  TemplateBundle bundle_ = TemplateBundle::embedded();
  Identity identity(const KernelConfig& config, const GemmTraits& traits, const char* arch) const {
    return render(config, traits, arch, bundle_).identity;
  }
};

TEST_F(RenderIdentity, IsTheSameForTheSameInput) {
  EXPECT_EQ(identity(MmaConfig{}, GemmTraits{}, "sm_80"), identity(MmaConfig{}, GemmTraits{}, "sm_80"));
  EXPECT_EQ(render(MmaConfig{}, GemmTraits{}, "sm_80", TemplateBundle::embedded()).identity,
            render(MmaConfig{}, GemmTraits{}, "sm_80", TemplateBundle::from_directory(HOTGEMM_SOURCE_DIR "/templates"))
                .identity)
      << "the place of the templates does not matter";
}

TEST_F(RenderIdentity, ChangesWithEachFieldOfTheConfig) {
  std::set<std::string> identities = {identity(MmaConfig{}, GemmTraits{}, "sm_80").hex()};
  std::size_t fields = 0;
  const MmaConfig base;
  MmaConfig::visit_fields(base, [&](const ConfigField&, auto) { ++fields; });
  for (std::size_t changed = 0; changed < fields; ++changed) {
    MmaConfig config;
    std::size_t at = 0;
    MmaConfig::visit_fields(config, [&](const ConfigField&, auto& member) {
      if (at++ != changed) return;
      if constexpr (std::is_same_v<decltype(member), bool&>) {
        member = !member;
      } else {
        member += 1;
      }
    });
    identities.insert(identity(config, GemmTraits{}, "sm_80").hex());
  }
  EXPECT_EQ(identities.size(), fields + 1);
}

TEST_F(RenderIdentity, ChangesWithEachFieldOfTheTraits) {
  const GemmTraits base;
  std::vector<GemmTraits> changed(8, base);
  changed[0].element = DType::bf16;
  changed[1].accumulator = DType::f16;
  changed[2].op_a = Op::t;
  changed[3].op_b = Op::t;
  changed[4].reads_c = true;
  changed[5].vec_a = 4;
  changed[6].vec_b = 4;
  changed[7].vec_d = 4;
  std::set<std::string> identities = {identity(MmaConfig{}, base, "sm_80").hex()};
  for (const GemmTraits& traits : changed) identities.insert(identity(MmaConfig{}, traits, "sm_80").hex());
  EXPECT_EQ(identities.size(), changed.size() + 1);
}

TEST_F(RenderIdentity, ChangesWithTheArch) {
  EXPECT_NE(identity(MmaConfig{}, GemmTraits{}, "sm_80"), identity(MmaConfig{}, GemmTraits{}, "sm_86"));
}

TEST_F(RenderIdentity, HoldsEveryOption) {
  const KernelSource source = render(MmaConfig{}, GemmTraits{}, "sm_80", bundle_);
  for (const std::string& option : source.options) {
    EXPECT_NE(source.identity.text.find("option:" + std::to_string(option.size()) + "=" + option), std::string::npos)
        << option;
  }
}

TEST_F(RenderIdentity, ChangesWithTheTemplatesOfItsFamilyOnly) {
  std::string pattern = (fs::temp_directory_path() / "hotgemm-render-XXXXXX").string();
  ASSERT_NE(mkdtemp(pattern.data()), nullptr);
  fs::copy(HOTGEMM_SOURCE_DIR "/templates", pattern, fs::copy_options::recursive);
  std::ofstream(pattern + "/simt.cuh", std::ios::app) << "// edited\n";
  const TemplateBundle edited = TemplateBundle::from_directory(pattern);
  fs::remove_all(pattern);
  EXPECT_EQ(render(MmaConfig{}, GemmTraits{}, "sm_80", edited).identity, identity(MmaConfig{}, GemmTraits{}, "sm_80"));
  EXPECT_NE(render(SimtConfig{}, GemmTraits{}, "sm_80", edited).identity,
            identity(SimtConfig{}, GemmTraits{}, "sm_80"));
  EXPECT_EQ(render_check("sm_80", edited).identity, render_check("sm_80", bundle_).identity);
}

TEST_F(RenderIdentity, UtilityUnitsHaveTheirOwn) {
  EXPECT_NE(render_check("sm_80", bundle_).identity, render_ceiling({}, "sm_80", bundle_).identity);
  EXPECT_NE(render_check("sm_80", bundle_).identity, render_check("sm_86", bundle_).identity);
}

}  // namespace
}  // namespace hotgemm
