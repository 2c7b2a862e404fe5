// Each function of templates/ptx that an emulated family uses has a twin in src/emulate/ptx with the same parameters,
// and each twin has an original. Instructions of families that are not emulated need no twin.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace {

using std::filesystem::path;

/// The declarations in a header, such as "HOTGEMM_DEVICE u32 name(u32 x, int y)", with single spaces.
std::set<std::string> functions(const path& file) {
  std::ifstream stream(file);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  text = std::regex_replace(text, std::regex(R"(\s+)"), " ");
  const std::regex declaration(R"(HOTGEMM_DEVICE ([\w ]+\((?:[^()]|\([^()]*\))*\)) \{)");
  std::set<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), declaration), end; it != end; ++it) found.insert((*it)[1]);
  return found;
}

/// Adds "ptx/x.hpp" for each such header that `file` includes, directly or not.
void add_instructions(const path& templates, const path& file, std::set<path>& found) {
  std::ifstream stream(templates / file);
  ASSERT_TRUE(stream) << file;
  const std::regex include(R"x(#include "((?:ptx/)?\w+\.(?:hpp|cuh))")x");
  for (std::string line; std::getline(stream, line);) {
    std::smatch match;
    if (!std::regex_match(line, match, include)) continue;
    const path included = match[1].str();
    if (included.parent_path() != "ptx" || found.insert(included).second) add_instructions(templates, included, found);
  }
}

TEST(Twins, ArePerFunction) {
  const path root = HOTGEMM_SOURCE_DIR;
  std::set<path> headers;
  for (const auto& entry : std::filesystem::directory_iterator(root / "templates")) {
    if (entry.path().extension() == ".cuh") add_instructions(root / "templates", entry.path().filename(), headers);
  }
  ASSERT_GT(headers.size(), 5u);
  for (const auto& entry : std::filesystem::directory_iterator(root / "src/emulate/ptx")) {
    headers.insert("ptx" / entry.path().filename());
  }
  std::size_t compared = 0;
  for (const path& header : headers) {
    const path name = header.filename();
    if (name == "device.hpp" || name == "element.hpp") continue;  // no instructions; element.hpp is used unchanged
    const std::set<std::string> real = functions(root / "templates" / header);
    EXPECT_FALSE(real.empty()) << name;
    EXPECT_EQ(functions(root / "src/emulate/ptx" / name), real) << name;
    compared += real.size();
  }
  EXPECT_GT(compared, 70u);
}

}  // namespace
