#include "gpu/code_digest.hpp"

#include <gtest/gtest.h>

#include <elf.h>

#include <cstring>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

using Image = std::vector<std::uint8_t>;

struct Section {
  std::string name;
  std::string bytes;
};

/// Makes an ELF file: header, section bytes, names, section headers.
Image elf_of(const std::vector<Section>& sections) {
  std::string names(1, '\0');
  std::vector<Elf64_Shdr> headers(1);
  Image image(sizeof(Elf64_Ehdr));
  const auto add = [&](const std::string& name, Elf64_Word type, const std::string& bytes) {
    Elf64_Shdr header{};
    header.sh_name = static_cast<Elf64_Word>(names.size());
    header.sh_type = type;
    header.sh_offset = image.size();
    header.sh_size = bytes.size();
    headers.push_back(header);
    names += name + '\0';
    image.insert(image.end(), bytes.begin(), bytes.end());
  };
  for (const Section& section : sections) add(section.name, SHT_PROGBITS, section.bytes);
  add(".shstrtab", SHT_STRTAB, names + ".shstrtab" + '\0');
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_shoff = image.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(headers.size());
  header.e_shstrndx = static_cast<Elf64_Half>(headers.size() - 1);
  std::memcpy(image.data(), &header, sizeof header);
  const auto* first = reinterpret_cast<const std::uint8_t*>(headers.data());
  image.insert(image.end(), first, first + headers.size() * sizeof(Elf64_Shdr));
  return image;
}

Image kernel(const std::string& symbol, const std::string& code, const std::string& constants) {
  return elf_of({{".nv.info." + symbol, symbol}, {".nv.constant0." + symbol, constants}, {".text." + symbol, code}});
}

TEST(CodeDigest, LeavesNamesOut) {
  EXPECT_EQ(code_digest(kernel("one", "code", "data")), code_digest(kernel("another", "code", "data")));
  EXPECT_TRUE(code_digest(kernel("one", "code", "data")));
}

TEST(CodeDigest, SeesCodeConstantsAndWhereTheyEnd) {
  const auto digest = code_digest(kernel("k", "code", "data"));
  EXPECT_NE(digest, code_digest(kernel("k", "codE", "data")));
  EXPECT_NE(digest, code_digest(kernel("k", "code", "Data")));
  EXPECT_NE(digest, code_digest(kernel("k", "acode", "dat")));
  EXPECT_NE(digest, code_digest(kernel("k", "data", "code")));
}

TEST(CodeDigest, LeavesOutTheTableOfVariablesThatNoKernelReads) {
  const auto with_table = [](const std::string& table) {
    return code_digest(elf_of({{".nv.constant4", table}, {".nv.constant3", "own"}, {".text.k", "code"}}));
  };
  EXPECT_EQ(with_table("address"), with_table("address address"));
  EXPECT_NE(with_table("address"), code_digest(elf_of({{".nv.constant3", "Own"}, {".text.k", "code"}})));
}

TEST(CodeDigest, IsEmptyWithoutCode) {
  EXPECT_FALSE(code_digest({}));
  EXPECT_FALSE(code_digest(elf_of({{".nv.constant0.k", "data"}})));
  EXPECT_FALSE(code_digest(elf_of({{".text.k", ""}})));
}

TEST(CodeDigest, DamagedImagesAreRefusedOrRead) {
  const Image image = kernel("k", "code", "data");
  for (std::size_t size = 0; size < image.size(); ++size) {
    const Image prefix(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size));  // a sanitizer knows its end
    EXPECT_FALSE(code_digest(prefix)) << size << " bytes";
  }
  for (std::size_t bit = 0; bit < 8 * image.size(); ++bit) {
    Image flipped = image;
    flipped[bit / 8] = static_cast<std::uint8_t>(flipped[bit / 8] ^ (1U << (bit % 8)));
    code_digest(flipped);  // the answer does not matter, but there must be no access outside
  }
}

}  // namespace
}  // namespace hotgemm
