// Each function of templates/ptx has its twin on the emulated device, with the same parameters.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

namespace {

using std::filesystem::path;

/// "HOTGEMM_DEVICE u32 name(u32 x, int y)" of a header, white space made even.
std::set<std::string> functions(const path& file) {
  std::ifstream stream(file);
  std::string text(std::istreambuf_iterator<char>(stream), {});
  text = std::regex_replace(text, std::regex(R"(\s+)"), " ");
  const std::regex declaration(R"(HOTGEMM_DEVICE ([\w ]+\((?:[^()]|\([^()]*\))*\)) \{)");
  std::set<std::string> found;
  for (std::sregex_iterator it(text.begin(), text.end(), declaration), end; it != end; ++it) found.insert((*it)[1]);
  return found;
}

TEST(Twins, ArePerFunction) {
  const path root = HOTGEMM_SOURCE_DIR;
  std::size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(root / "templates/ptx")) {
    const path name = entry.path().filename();
    if (name == "device.hpp" || name == "element.hpp") continue;  // no instructions; the latter is used as it is
    const std::set<std::string> real = functions(entry.path());
    EXPECT_FALSE(real.empty()) << name;
    EXPECT_EQ(functions(root / "src/emulate/ptx" / name), real) << name;
    compared += real.size();
  }
  EXPECT_GT(compared, 40u);
}

}  // namespace
