// Cubins without the variables that no instruction reads.

#include "gpu/slim_cubin.hpp"
#include "nvrtc/nvrtc_fixture.hpp"

#include "cache/binary_cache.hpp"
#include "config/render.hpp"
#include "config/repack.hpp"
#include "config/traits.hpp"
#include "gpu/code_digest.hpp"
#include "gpu/cubin_memory.hpp"
#include "gpu/elf_file.hpp"
#include "gpu/kernel_builder.hpp"
#include "gpu/ptx_variables.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

using Image = std::vector<std::uint8_t>;
constexpr auto kNoDeadline = std::chrono::steady_clock::time_point::max();

bool has_section(const Image& image, std::string_view name) {
  const auto sections = elf_sections(image);
  return sections && std::ranges::find(*sections, name, &ElfSection::name) != sections->end();
}

/// True if the image has variables, or the table of their addresses.
bool has_variables(const Image& image) {
  return has_section(image, ".nv.global") || has_section(image, ".nv.global.init") ||
         has_section(image, ".nv.constant4");
}

class SlimCubin : public NvrtcTest {
 protected:
  KernelSource source_of(const char* config, const char* problem, const std::string& arch) {
    return render(*parse_config(config), traits_of(parse_workload(problem)), arch, bundle_);
  }
  Cubin compile(const KernelSource& source, GlobalVariables variables) {
    return Nvrtc::get().compile(source, bundle_, nullptr, kNoDeadline, variables);
  }

  TemplateBundle bundle_ = TemplateBundle::embedded();
};

TEST_F(SlimCubin, HasTheSameCodeAndNoVariables) {
  for (const ArchLimits& arch : kArchTable) {
    SCOPED_TRACE(arch.sm);
    const KernelSource source = source_of("simt_m64_n64_k16_tm4_tn4", "64 64 64 nt f16",
                                          "sm_" + std::to_string(arch.sm) + std::string(arch.suffix != 0, arch.suffix));
    const Cubin all = compile(source, GlobalVariables::all), slim = compile(source, GlobalVariables::read);
    EXPECT_TRUE(has_variables(all.image));
    if (arch.sm >= 100) {  // its cubins hold a second form of everything
      EXPECT_EQ(slim.image, all.image);
      continue;
    }
    EXPECT_FALSE(has_variables(slim.image));
    EXPECT_LT(slim.image.size(), all.image.size());
    EXPECT_EQ(kernel_digest(slim), kernel_digest(all));
    EXPECT_EQ(cubin_memory(slim), cubin_memory(all));
    // What refers to sections and symbols does so by their numbers: these stay.
    const auto before = *elf_sections(all.image), after = *elf_sections(slim.image);
    ASSERT_EQ(after.size(), before.size());
    for (std::size_t i = 0; i < after.size(); ++i) {
      if (after[i].header.sh_type == SHT_NULL) continue;
      EXPECT_EQ(after[i].name, before[i].name);
      EXPECT_EQ(after[i].header.sh_link, before[i].header.sh_link) << after[i].name;
      EXPECT_EQ(after[i].header.sh_info, before[i].header.sh_info) << after[i].name;
      EXPECT_EQ(after[i].header.sh_offset % std::max<std::uint64_t>(after[i].header.sh_addralign, 1), 0u);
      const bool is_rewritten = after[i].name == ".strtab" || after[i].name == ".symtab";
      EXPECT_TRUE(is_rewritten || std::ranges::equal(after[i].bytes, before[i].bytes)) << after[i].name;
    }
  }
}

TEST_F(SlimCubin, OfEachFamilyIsSlim) {
  for (const auto& [config, problem] :
       {std::pair("simt_m64_n64_k16_tm4_tn4", "64 64 64 nt f32"),
        {"wmma_m128_n128_k16_wm4_wn2_fm16_s1_a1_p0_b1", "64 64 64 nt f16"},
        {"wgmma_m128_n256_k64_c2_sn0_pp0_o0_s4_cm1_cn1_b1", "64 64 64 nt bf16 epilogue=bias"}}) {
    EXPECT_FALSE(has_variables(compile(source_of(config, problem, "sm_90a"), GlobalVariables::read).image)) << config;
  }
  EXPECT_FALSE(has_variables(compile(render_repack("sm_90a", bundle_), GlobalVariables::read).image));
  EXPECT_FALSE(has_variables(compile(render_check("sm_90a", bundle_), GlobalVariables::read).image));
}

/// A text in a user's function is a variable that the kernel reads.
TEST_F(SlimCubin, KeepsVariablesThatTheKernelReads) {
  const FunctionSource function("value + \"\\1\\2\\3\\4\\5\\6\\7\"[column % 7]\n", "table.txt");
  bundle_.add(function);
  Workload workload = parse_workload("64 64 64 nt f16");
  workload.epilogue.function = function.function();
  for (const char* arch : {"sm_80", "sm_90a"}) {
    const KernelSource source =
        render(*parse_config("mma_m64_n64_k32_wm2_wn2_s2_x1_f2_e1_b1"), traits_of(workload), arch, bundle_);
    const Image all = compile(source, GlobalVariables::all).image;
    EXPECT_TRUE(has_section(all, ".nv.global.init"));
    EXPECT_EQ(compile(source, GlobalVariables::read).image, all);
  }
}

TEST_F(SlimCubin, NeedsTheNamesOfAllVariables) {
  const KernelSource source = source_of("mma_m64_n64_k32_wm2_wn2_s2_x1_f2_e1_b1", "64 64 64 nt f16", "sm_90a");
  const Image all = compile(source, GlobalVariables::all).image;
  EXPECT_EQ(slim_cubin(all, {}), std::nullopt);
  EXPECT_EQ(slim_cubin(all, {"kTraits"}), std::nullopt);
  EXPECT_EQ(slim_cubin(compile(source, GlobalVariables::read).image, {}), std::nullopt) << "there is nothing to drop";
}

TEST_F(SlimCubin, DamagedImagesAreRefusedOrRead) {
  const KernelSource source = source_of("mma_m64_n64_k32_wm2_wn2_s2_x1_f2_e1_b1", "64 64 64 nt f16", "sm_90a");
  const Image image = compile(source, GlobalVariables::all).image;
  std::set<std::string_view> names;
  const auto sections = *elf_sections(image);
  const auto texts = std::ranges::find(sections, ".strtab", &ElfSection::name)->bytes;
  for (std::size_t at = 0; at < texts.size(); at += elf_text_at(texts, at)->size() + 1)
    names.insert(*elf_text_at(texts, at));
  ASSERT_TRUE(slim_cubin(image, names));
  for (std::size_t size = 0; size < image.size(); size += 97) slim_cubin({image.data(), size}, names);
  const std::size_t headers = image.size() / 8 * 7;  // they stand at the end, and are what it goes by
  for (std::size_t bit = 8 * headers; bit < 8 * image.size(); bit += 7) {
    Image flipped = image;
    flipped[bit / 8] = static_cast<std::uint8_t>(flipped[bit / 8] ^ (1U << (bit % 8)));
    slim_cubin(flipped, names);
  }
}

/// A driver that cannot load a slim cubin gets what NVRTC made.
TEST_F(SlimCubin, IsBuiltWithAllVariablesOnceItWasRefused) {
  BinaryCacheOptions options;
  options.mode = CacheMode::off;
  BinaryCache cache(options);
  KernelBuilder builder(cache, bundle_);
  const KernelSource source = source_of("mma_m64_n64_k32_wm2_wn2_s2_x1_f2_e1_b1", "64 64 64 nt f16", "sm_90a");
  const Cubin slim = *builder.build(source).cubin;
  EXPECT_FALSE(has_variables(slim.image));
  EXPECT_TRUE(has_variables(builder.rebuild(source, slim, "refused", true).cubin->image));
}

}  // namespace
}  // namespace hotgemm
