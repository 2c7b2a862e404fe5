#include "gpu/code_digest.hpp"

#include "unit/elf_image.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace hotgemm {
namespace {

ElfImage kernel(const std::string& symbol, const std::string& code, const std::string& constants) {
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
  const ElfImage image = kernel("k", "code", "data");
  for (std::size_t size = 0; size < image.size(); ++size) {
    const ElfImage prefix(image.begin(),
                          image.begin() + static_cast<std::ptrdiff_t>(size));  // a sanitizer knows its end
    EXPECT_FALSE(code_digest(prefix)) << size << " bytes";
  }
  for (std::size_t bit = 0; bit < 8 * image.size(); ++bit) {
    ElfImage flipped = image;
    flipped[bit / 8] = static_cast<std::uint8_t>(flipped[bit / 8] ^ (1U << (bit % 8)));
    code_digest(flipped);  // the answer does not matter, but there must be no access outside
  }
}

}  // namespace
}  // namespace hotgemm
