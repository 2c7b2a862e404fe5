#include "config/embedded_templates.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

std::string read(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

TEST(EmbeddedTemplates, AreTheFilesByteForByte) {
  const std::filesystem::path root = HOTGEMM_SOURCE_DIR "/templates";
  std::vector<std::string> on_disk;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const auto extension = entry.path().extension();
    if (extension == ".cuh" || extension == ".hpp") on_disk.push_back(entry.path().lexically_relative(root).string());
  }
  std::ranges::sort(on_disk);
  ASSERT_FALSE(on_disk.empty());

  std::vector<std::string> embedded;
  for (const EmbeddedFile& file : embedded_templates()) {
    embedded.emplace_back(file.path);
    EXPECT_TRUE(file.text == read(root / file.path)) << file.path;
  }
  EXPECT_EQ(embedded, on_disk);
}

TEST(EmbeddedTemplates, OneIsCutIntoSeveralLiterals) {
  // Embedding splits text above 12,000 bytes. Without such a file the test above would not detect a wrong split.
  EXPECT_TRUE(
      std::ranges::any_of(embedded_templates(), [](const EmbeddedFile& file) { return file.text.size() > 12000; }));
}

}  // namespace
}  // namespace hotgemm
