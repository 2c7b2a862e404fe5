// Random damage to a cubin, as a cache on a bad disk may have: whatever reads its sections refuses it, or returns
// something.

#include "config/render.hpp"
#include "config/template_bundle.hpp"
#include "config/traits.hpp"
#include "elf_names.hpp"
#include "gpu/code_digest.hpp"
#include "gpu/cubin_memory.hpp"
#include "gpu/nvrtc.hpp"
#include "gpu/slim_cubin.hpp"
#include "sweep_sample.hpp"

#include <hotgemm/problem.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string_view>

namespace hotgemm {
namespace {

/// With all variables, so that slim_cubin has something to leave out.
Cubin compiled(const char* config, const char* arch) {
  const TemplateBundle bundle = TemplateBundle::embedded();
  KernelSource source = render(*parse_config(config), traits_of(parse_workload("64 64 64 nt f16")), arch, bundle);
  source.variables = GlobalVariables::all;
  return Nvrtc::get().compile(source, bundle);
}

/// Changes up to eight bytes of the file's header, of the sections' headers, of a table that they name, or anywhere; or
/// cuts the image.
class CubinDamage {
 public:
  explicit CubinDamage(const std::vector<std::uint8_t>& image) : image_(image) {
    const auto header = *elf_value_at<Elf64_Ehdr>(image, 0);
    ranges_.push_back({0, sizeof(Elf64_Ehdr)});
    ranges_.push_back({header.e_shoff, header.e_shnum * sizeof(Elf64_Shdr)});
    const std::vector<ElfSection> sections = *elf_sections(image);
    for (const ElfSection& section : sections) {
      const Elf64_Word type = section.header.sh_type;
      const bool is_table = type == SHT_SYMTAB || type == SHT_STRTAB || type == SHT_REL || type == SHT_RELA;
      if (is_table || section.name.starts_with(".nv.info")) {
        ranges_.push_back({section.header.sh_offset, section.header.sh_size});
      }
    }
    ranges_.push_back({0, image.size()});
  }

  std::vector<std::uint8_t> next() {
    std::vector<std::uint8_t> image = image_;
    if (random_() % 16 == 0) image.resize(random_() % image.size());
    for (std::size_t edits = random_() % 4 + 1; edits > 0; --edits) {
      const Range range = ranges_[random_() % ranges_.size()];
      const std::size_t at = range.first + random_() % std::max<std::size_t>(range.bytes, 1);
      const std::size_t bytes = std::size_t{1} << random_() % 4;
      const std::uint8_t value = kValues[random_() % std::size(kValues)];
      const bool is_random = random_() % 2 == 0;
      for (std::size_t i = at; i < std::min(at + bytes, image.size()); ++i) {
        image[i] = is_random ? static_cast<std::uint8_t>(random_()) : value;
      }
    }
    return image;
  }

 private:
  struct Range {
    std::size_t first;
    std::size_t bytes;
  };
  static constexpr std::uint8_t kValues[] = {0, 1, 0x7f, 0x80, 0xff};

  std::vector<std::uint8_t> image_;
  std::vector<Range> ranges_;
  std::mt19937 random_{5};
};

void expect_read_or_refused(Cubin cubin) {
  CubinDamage damage(cubin.image);
  const std::vector<std::uint8_t> whole = cubin.image;
  const std::vector<ElfSection> sections = *elf_sections(whole);
  const std::set<std::string_view> names = names_in(sections);
  for (std::size_t size = 0; size < whole.size(); size += 97) EXPECT_FALSE(slim_cubin({whole.data(), size}, names));
  int slim = 0;
  for (int i = 0; i < trials(4000, 4); ++i) {
    cubin.image = damage.next();
    code_digest(cubin.image);
    cubin_memory(cubin);
    if (const auto less = slim_cubin(cubin.image, names)) {
      ++slim;
      EXPECT_TRUE(elf_sections(*less)) << i;
    }
  }
  EXPECT_GT(slim, 0) << "damage that reaches no further than the sections";
  EXPECT_TRUE(code_digest(whole) && slim_cubin(whole, names));
}

TEST(DamagedCubin, IsReadOrRefused) {
  expect_read_or_refused(compiled("wgmma_m64_n64_k64_c1_sn0_pp0_o0_s4_cm1_cn1_b1", "sm_90a"));
  expect_read_or_refused(compiled("simt_m64_n64_k16_tm4_tn4", "sm_86"));
}

}  // namespace
}  // namespace hotgemm
