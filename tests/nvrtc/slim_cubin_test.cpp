// Cubins without the variables that no instruction reads.

#include "gpu/slim_cubin.hpp"
#include "nvrtc/nvrtc_fixture.hpp"

#include "cache/binary_cache.hpp"
#include "config/render.hpp"
#include "config/repack.hpp"
#include "config/traits.hpp"
#include "elf_names.hpp"
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
  Cubin compile(KernelSource source, GlobalVariables variables) {
    source.variables = variables;
    return Nvrtc::get().compile(source, bundle_);
  }

  TemplateBundle bundle_ = TemplateBundle::embedded();
};

/// The symbols of an image, with their names.
std::vector<std::pair<std::string, Elf64_Sym>> symbols_of(const Image& image) {
  const auto sections = *elf_sections(image);
  const auto table = std::ranges::find(sections, ".symtab", &ElfSection::name);
  std::vector<std::pair<std::string, Elf64_Sym>> symbols;
  for (std::size_t at = 0; at < table->bytes.size(); at += sizeof(Elf64_Sym)) {
    const auto symbol = *elf_value_at<Elf64_Sym>(table->bytes, at);
    symbols.emplace_back(*elf_text_at(sections[table->header.sh_link].bytes, symbol.st_name), symbol);
  }
  return symbols;
}

/// The flags of the loaded segments in which the section's bytes lie.
std::vector<Elf64_Word> segments_of(const Image& image, const Elf64_Shdr& section) {
  const auto header = *elf_value_at<Elf64_Ehdr>(image, 0);
  std::vector<Elf64_Word> flags;
  for (const Elf64_Phdr& s : *elf_values_at<Elf64_Phdr>(image, header.e_phoff, header.e_phnum)) {
    const bool is_inside =
        section.sh_offset >= s.p_offset && section.sh_offset + section.sh_size <= s.p_offset + s.p_filesz;
    if (s.p_type == PT_LOAD && is_inside) flags.push_back(s.p_flags);
  }
  return flags;
}

/// Expects that `slim` is `all` without variables, their addresses and their symbols, and else the same.
void expect_slim(const Image& slim, const Image& all) {
  EXPECT_TRUE(has_variables(all));
  EXPECT_FALSE(has_variables(slim));
  EXPECT_LT(slim.size(), all.size());
  const auto before = *elf_sections(all), after = *elf_sections(slim);
  ASSERT_EQ(after.size(), before.size());
  const auto is_gone = [&](std::size_t i) {
    const std::string_view name = before[i].name;
    return name == ".nv.global" || name == ".nv.global.init" || name == ".nv.constant4";
  };
  for (std::size_t i = 0; i < after.size(); ++i) {
    SCOPED_TRACE(std::string(before[i].name));
    const Elf64_Shdr &old = before[i].header, &now = after[i].header;
    const bool relocates = old.sh_type == SHT_REL || old.sh_type == SHT_RELA;
    EXPECT_EQ(now.sh_type, is_gone(i) || (relocates && is_gone(old.sh_info)) ? SHT_NULL : old.sh_type);
    if (now.sh_type == SHT_NULL) continue;
    EXPECT_EQ(after[i].name, before[i].name);
    EXPECT_EQ(now.sh_flags, old.sh_flags);
    EXPECT_EQ(now.sh_link, old.sh_link);
    EXPECT_EQ(now.sh_info, old.sh_info);
    EXPECT_EQ(now.sh_offset % std::max<std::uint64_t>(now.sh_addralign, 1), 0u);
    const bool is_rewritten = after[i].name == ".strtab" || after[i].name == ".symtab";
    EXPECT_TRUE(is_rewritten || std::ranges::equal(after[i].bytes, before[i].bytes));
    if ((old.sh_flags & SHF_ALLOC) != 0 && old.sh_type != SHT_NOBITS) {
      EXPECT_EQ(segments_of(slim, now), segments_of(all, old));
    }
  }
  const auto old = symbols_of(all), now = symbols_of(slim);
  ASSERT_EQ(now.size(), old.size());
  for (std::size_t i = 0; i < now.size(); ++i) {
    const bool went = old[i].second.st_shndx < before.size() && is_gone(old[i].second.st_shndx);
    EXPECT_EQ(now[i].first, went ? "" : old[i].first);
    EXPECT_EQ(now[i].second.st_value, went ? 0 : old[i].second.st_value);
    EXPECT_EQ(now[i].second.st_size, went ? 0 : old[i].second.st_size);
    EXPECT_EQ(now[i].second.st_shndx, went ? 0 : old[i].second.st_shndx);
    EXPECT_TRUE(went || now[i].second.st_info == old[i].second.st_info);
  }
}

TEST_F(SlimCubin, HasTheSameCodeAndNoVariables) {
  const KernelSource source =
      source_of("wgmma_m128_n256_k64_c2_sn0_pp0_o0_s4_cm1_cn1_b1", "64 64 64 nt bf16", "sm_90a");
  const Cubin all = compile(source, GlobalVariables::all), slim = compile(source, GlobalVariables::read);
  expect_slim(slim.image, all.image);
  EXPECT_EQ(kernel_digest(slim), kernel_digest(all));
  EXPECT_EQ(cubin_memory(slim), cubin_memory(all));
}

/// Slim cubins have run on GPUs of sm_90a. For others the compiler keeps all, although earlier ones have the same
/// sections.
TEST_F(SlimCubin, IsForProvenArchitectures) {
  for (const ArchLimits& arch : kArchTable) {
    SCOPED_TRACE(arch.sm);
    const KernelSource source = source_of("simt_m64_n64_k16_tm4_tn4", "64 64 64 nt f16",
                                          "sm_" + std::to_string(arch.sm) + std::string(arch.suffix != 0, arch.suffix));
    const Image all = compile(source, GlobalVariables::all).image, own = compile(source, GlobalVariables::read).image;
    EXPECT_EQ(own == all, arch.sm != 90);
    const auto slim = slim_cubin(all, names_in(*elf_sections(all)));
    if (has_section(all, ".nv.merc.symtab")) {  // a second form of everything
      EXPECT_EQ(slim, std::nullopt);
    } else {
      ASSERT_TRUE(slim);
      expect_slim(*slim, all);
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
  const KernelSource source =
      render(*parse_config("mma_m64_n64_k32_wm2_wn2_s2_x1_f2_e1_b1"), traits_of(workload), "sm_90a", bundle_);
  const Image all = compile(source, GlobalVariables::all).image;
  EXPECT_TRUE(has_section(all, ".nv.global.init"));
  EXPECT_EQ(compile(source, GlobalVariables::read).image, all);
}

TEST_F(SlimCubin, NeedsTheNamesOfAllVariables) {
  const KernelSource source = source_of("mma_m64_n64_k32_wm2_wn2_s2_x1_f2_e1_b1", "64 64 64 nt f16", "sm_90a");
  const Image all = compile(source, GlobalVariables::all).image;
  EXPECT_EQ(slim_cubin(all, {}), std::nullopt);
  EXPECT_EQ(slim_cubin(all, {"kTraits"}), std::nullopt);
  EXPECT_EQ(slim_cubin(compile(source, GlobalVariables::read).image, {}), std::nullopt) << "there is nothing to drop";
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
