#include "config/template_bundle.hpp"

#include "config/embedded_templates.hpp"
#include "config/include_scan.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace hotgemm {
namespace {

namespace fs = std::filesystem;

/// A copy of templates/ that a test may damage.
class TemplateBundleTest : public testing::Test {
 protected:
  TemplateBundleTest() {
    std::string pattern = (fs::temp_directory_path() / "hotgemm-templates-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp " + pattern);
    directory_ = pattern;
    fs::copy(HOTGEMM_SOURCE_DIR "/templates", directory_, fs::copy_options::recursive);
  }
  ~TemplateBundleTest() override {
    std::error_code ignored;
    fs::remove_all(directory_, ignored);
  }
  void append(const std::string& path, const std::string& text) const {
    std::ofstream(directory_ / path, std::ios::binary | std::ios::app) << text;
  }
  TemplateBundle bundle() const { return TemplateBundle::from_directory(directory_.string()); }

  fs::path directory_;
};

std::string digest_error(const TemplateBundle& bundle, const std::string& entry) {
  try {
    bundle.digest(entry);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io_error);
    return error.what();
  }
  return {};
}

TEST_F(TemplateBundleTest, ADirectoryIsAsGoodAsWhatIsEmbedded) {
  const TemplateBundle embedded = TemplateBundle::embedded(), read = bundle();
  EXPECT_EQ(embedded.origin(), "embedded");
  EXPECT_EQ(read.origin(), directory_.string());
  ASSERT_EQ(read.files().size(), embedded.files().size());
  for (std::size_t i = 0; i < read.files().size(); ++i) {
    EXPECT_EQ(read.files()[i].path, embedded.files()[i].path);
    EXPECT_EQ(read.files()[i].text, embedded.files()[i].text) << read.files()[i].path;
  }
  for (const auto& [entry, text] : read.files()) {
    EXPECT_EQ(read.digest(entry), embedded.digest(entry)) << entry;
    EXPECT_EQ(read.digest(entry).size(), 64U);
  }
  EXPECT_NE(read.digest("mma.cuh"), read.digest("simt.cuh"));
}

TEST_F(TemplateBundleTest, TheBuildComputesTheDigestsOfAllTemplates) {
  const TemplateBundle read = bundle();
  std::size_t templates = 0;
  for (const TemplateFile& file : read.files()) templates += file.path.ends_with(".cuh") ? 1 : 0;
  EXPECT_EQ(embedded_digests().size(), templates);
  for (const auto& [entry, digest] : embedded_digests()) EXPECT_EQ(digest, read.digest(entry)) << entry;
}

TEST_F(TemplateBundleTest, EverySpellingOfAnIncludeCounts) {
  std::ofstream(directory_ / "extra.hpp") << "// 1\n";
  for (const char* include :
       {"#include \"extra.hpp\"\n", "#  include   \"extra.hpp\"\n", " # include<extra.hpp>\n",
        "#/* a */include/* b */\"extra.hpp\" // c\n", "#inc\\\nlude \\\r\n <extra.hpp>\n", "%:include \"extra.hpp\"",
        "/* one\n two */ #include <extra.hpp>\n", "const char* s = \"/*\";\n#include \"extra.hpp\"\n",
        "int n = 1'000;\n#include \"extra.hpp\"\n", "auto r = R\"x(\n\"/*)x\";\n#include \"extra.hpp\"\n"}) {
    SCOPED_TRACE(include);
    std::ofstream(directory_ / "outer.hpp", std::ios::binary) << include;
    std::ofstream(directory_ / "extra.hpp") << "// 1\n";
    const std::string before = bundle().digest("outer.hpp");
    std::ofstream(directory_ / "extra.hpp") << "// 2\n";
    EXPECT_NE(bundle().digest("outer.hpp"), before);
  }
}

TEST_F(TemplateBundleTest, AnIncludeThatOnlyAPreprocessorCanFollowIsAnError) {
  for (const char* include :
       {"#include HEADER\n", "#include_next \"mma.cuh\"\n", "#include\n", "#include \"mma.cuh\n"}) {
    std::ofstream(directory_ / "outer.hpp", std::ios::binary) << "int x;\n" << include;
    try {
      bundle().digest("outer.hpp");
      ADD_FAILURE() << include;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
      EXPECT_NE(std::string(error.what()).find("template outer.hpp: only a preprocessor can follow \"#include"),
                std::string::npos)
          << error.what();
    }
  }
}

TEST(IncludeScan, SeesDirectivesOnly) {
  EXPECT_TRUE(includes_of("// #include \"a\"\n/* \n#include \"b\"\n */\nauto s = \"\\\"#include\";\n#define include\n"
                          "auto r = R\"(\n#include \"c\"\n)\";\nint include;\n")
                  .empty());
  EXPECT_EQ(includes_of("#include <cuda_fp16.h>\n\t#\tinclude \"shared/a b.hpp\""),
            (std::vector<IncludeDirective>{{"cuda_fp16.h", true}, {"shared/a b.hpp", false}}));
  EXPECT_TRUE(includes_of("").empty());
}

TEST_F(TemplateBundleTest, EditingOneFamilyLeavesTheOthersAlone) {
  const TemplateBundle before = bundle();
  append("simt.cuh", "// edited\n");
  const TemplateBundle after = bundle();
  EXPECT_NE(after.digest("simt.cuh"), before.digest("simt.cuh"));
  EXPECT_EQ(after.digest("mma.cuh"), before.digest("mma.cuh"));
  EXPECT_EQ(after.digest("check.cuh"), before.digest("check.cuh"));
}

TEST_F(TemplateBundleTest, EditingASharedFileChangesAllThatIncludeIt) {
  const TemplateBundle before = bundle();
  append("shared/gemm_args.hpp", "// edited\n");  // included by the families, but not by the check kernels
  const TemplateBundle after = bundle();
  EXPECT_NE(after.digest("simt.cuh"), before.digest("simt.cuh"));
  EXPECT_NE(after.digest("mma.cuh"), before.digest("mma.cuh"));
  EXPECT_EQ(after.digest("check.cuh"), before.digest("check.cuh"));
  append("ptx/device.hpp", "// edited\n");  // included indirectly
  EXPECT_NE(bundle().digest("check.cuh"), after.digest("check.cuh"));
}

TEST_F(TemplateBundleTest, AnUnrelatedFileChangesNothing) {
  const TemplateBundle before = bundle();
  append("extra.cuh", "#pragma once\n");
  append("notes.md", "not a template\n");
  const TemplateBundle after = bundle();
  EXPECT_EQ(after.digest("mma.cuh"), before.digest("mma.cuh"));
  EXPECT_EQ(after.files().size(), before.files().size() + 1);
}

TEST_F(TemplateBundleTest, WhatIsMissingIsNamed) {
  fs::remove(directory_ / "ptx/mma.hpp");
  const TemplateBundle broken = bundle();
  const std::string error = digest_error(broken, "mma.cuh");
  EXPECT_NE(error.find("ptx/mma.hpp"), std::string::npos) << error;
  EXPECT_NE(error.find(directory_.string()), std::string::npos) << error;
  EXPECT_EQ(digest_error(broken, "simt.cuh"), "") << "it does not include the missing file";

  append("simt.cuh", "#include \"shared/nothing.hpp\"\n");
  EXPECT_NE(digest_error(bundle(), "simt.cuh").find("shared/nothing.hpp"), std::string::npos);
  EXPECT_NE(digest_error(bundle(), "nothing.cuh").find("nothing.cuh"), std::string::npos);
}

TEST_F(TemplateBundleTest, ACycleOfIncludesEnds) {
  append("ptx/device.hpp", "#include \"simt.cuh\"\n");
  EXPECT_EQ(digest_error(bundle(), "simt.cuh"), "");
}

TEST_F(TemplateBundleTest, ADirectoryWithoutTemplatesIsAnError) {
  const fs::path empty = directory_ / "empty";
  fs::create_directory(empty);
  for (const fs::path& path : {empty, directory_ / "absent", directory_ / "mma.cuh"}) {
    try {
      TemplateBundle::from_directory(path.string());
      FAIL() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::io_error);
      EXPECT_NE(std::string(error.what()).find(path.string()), std::string::npos) << error.what();
    }
  }
}

TEST_F(TemplateBundleTest, TheEnvironmentNamesADirectory) {
  append("mma.cuh", "// edited\n");
  const char* before = getenv("HOTGEMM_TEMPLATE_DIR");
  const std::string saved = before != nullptr ? before : "";
  setenv("HOTGEMM_TEMPLATE_DIR", directory_.c_str(), 1);
  EXPECT_EQ(TemplateBundle::from_environment().digest("mma.cuh"), bundle().digest("mma.cuh"));
  setenv("HOTGEMM_TEMPLATE_DIR", "", 1);
  EXPECT_EQ(TemplateBundle::from_environment().origin(), "embedded");
  unsetenv("HOTGEMM_TEMPLATE_DIR");
  EXPECT_EQ(TemplateBundle::from_environment().origin(), "embedded");
  if (before != nullptr) setenv("HOTGEMM_TEMPLATE_DIR", saved.c_str(), 1);
}

}  // namespace
}  // namespace hotgemm
