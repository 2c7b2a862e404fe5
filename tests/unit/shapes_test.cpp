#include "config/shapes.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace hotgemm {
namespace {

struct Failure {
  ErrorCode code = ErrorCode::internal;
  std::string message;
};

template <class Call>
Failure failure_of(Call&& call) {
  try {
    call();
  } catch (const Error& error) {
    return {error.code(), error.what()};
  }
  return {};
}

TEST(Shapes, ReadsProblemsCommentsAndBlankLines) {
  const auto problems = parse_shapes(
      "# large\n"
      "4096 8192 2048 nt f16\n"
      "\n"
      "   \t \n"
      "  1 6144 4096 nn bf16   # decode\r\n"
      "64 64 64 tt f32",
      "x.txt");
  ASSERT_EQ(problems.size(), 3u);
  EXPECT_EQ(to_string(problems[0].workload), "4096 8192 2048 nt f16 align=16");
  EXPECT_EQ(to_string(problems[1].workload), "1 6144 4096 nn bf16 align=16");
  EXPECT_EQ(to_string(problems[2].workload), "64 64 64 tt f32 align=16");
}

TEST(Shapes, EmptyTextHasNoProblems) {
  EXPECT_TRUE(parse_shapes("", "x").empty());
  EXPECT_TRUE(parse_shapes("\n#\n", "x").empty());
}

TEST(Shapes, LinesHaveTheGrammarOfProblems) {
  const auto shapes = parse_shapes("100 101 103 nn f16 lda=104 beta=1 count=12 us=2.5\n1x2x3 nn f16 acc=f16", "x");
  ASSERT_EQ(shapes.size(), 2u);
  EXPECT_EQ(to_string(shapes[0].workload), "100 101 103 nn f16 align=16,2,2 beta=1");
  EXPECT_EQ(shapes[0].count, 12);
  EXPECT_EQ(shapes[0].us, 2.5);
  EXPECT_EQ(to_string(shapes[1].workload), "1 2 3 nn f16 acc=f16 align=2,4,4");
  EXPECT_EQ(shapes[1].count, 1);
  EXPECT_EQ(shapes[1].us, 0);
}

TEST(Shapes, TheProjectsFilesAreRead) {
  std::size_t problems = 0;
  for (const auto& entry : std::filesystem::directory_iterator(HOTGEMM_SOURCE_DIR "/docs/shapes")) {
    if (entry.path().extension() == ".txt") problems += load_shapes(entry.path()).size();
  }
  EXPECT_GT(problems, 90u);
}

TEST(Shapes, MalformedLinesAreNamed) {
  const struct {
    const char* line;
    const char* named;
  } cases[] = {
      {"4096 4096 nt f16", "'4096 4096 nt f16' is not a problem"},
      {"4096 4096 4096 nt", "expected m n k layout type"},
      {"4096 4096 4096 nt f16 f32", "'f32' is not key=value"},
      {"4096 4096 4096 nt f16 us=0", "us is '0'"},
      {"4096 x 4096 nt f16", "n is 'x'"},
      {"4096 4096 -1 nt f16", "k is '-1'"},
      {"4096 4096 99999999999 nt f16", "k is '99999999999'"},
      {"4096 4096 4096 tnt f16", "layout is 'tnt'"},
      {"4096 4096 4096 nt fp19", "'fp19'"},
      {"4096,4096,4096,nt,f16", "'4096,4096,4096,nt,f16'"},
  };
  for (const auto& c : cases) {
    const Failure failure =
        failure_of([&] { parse_shapes(std::string("1 2 3 nn f16\n# comment\n") + c.line + "\n", "dir/shapes.txt"); });
    EXPECT_EQ(failure.code, ErrorCode::invalid_argument) << c.line;
    EXPECT_EQ(failure.message.rfind("dir/shapes.txt:3: ", 0), 0u) << failure.message;
    EXPECT_NE(failure.message.find(c.named), std::string::npos) << failure.message;
  }
}

TEST(Shapes, LoadsAFile) {
  const std::filesystem::path path = std::filesystem::path(testing::TempDir()) / "shapes_test.txt";
  std::ofstream(path) << "16 32 64 nn f16\nbad\n";
  const Failure failure = failure_of([&] { load_shapes(path); });
  EXPECT_EQ(failure.message.rfind(path.string() + ":2: ", 0), 0u) << failure.message;
  std::ofstream(path) << "16 32 64 nn f16\n";
  EXPECT_EQ(load_shapes(path).size(), 1u);
  std::filesystem::remove(path);
}

TEST(Shapes, FilesThatCannotBeReadAreIoErrors) {
  const Failure missing = failure_of([] { load_shapes("/nonexistent/shapes.txt"); });
  EXPECT_EQ(missing.code, ErrorCode::io_error);
  EXPECT_NE(missing.message.find("/nonexistent/shapes.txt: No such file"), std::string::npos) << missing.message;
}

TEST(Shapes, ADirectoryIsReadByTheNamesOfItsLists) {
  const std::filesystem::path directory = std::filesystem::path(testing::TempDir()) / "hotgemm_shapes_directory";
  std::filesystem::remove_all(directory);
  std::filesystem::create_directory(directory);
  std::ofstream(directory / "notes.md") << "not a list\n";
  const Failure failure = failure_of([&] { load_shapes(directory); });
  EXPECT_EQ(failure.code, ErrorCode::io_error);
  EXPECT_NE(failure.message.find("no *.txt or *.csv"), std::string::npos) << failure.message;
  std::ofstream(directory / "b.txt") << "16 32 64 nn f16 count=3\n";
  std::ofstream(directory / "a.txt") << "8 8 8 nn f16\n";
  std::ofstream(directory / "c.csv") << "GemmTunableOp_Half_NN,nn_24_8_8_ld_24_8_24,Default,1\n";
  const std::vector<Shape> shapes = load_shapes(directory);
  ASSERT_EQ(shapes.size(), 3u);
  EXPECT_EQ(shapes[0].workload.n, 8);
  EXPECT_EQ(shapes[1].count, 3);
  EXPECT_EQ(shapes[2].workload.n, 24);
  std::filesystem::remove_all(directory);
}

TEST(Shapes, SizesOfTheOption) {
  const Sizes sizes = parse_sizes("16x32x64");
  EXPECT_EQ(sizes.m, 16);
  EXPECT_EQ(sizes.n, 32);
  EXPECT_EQ(sizes.k, 64);
  EXPECT_EQ(parse_sizes("16X32X64").n, 32);
  for (const char* text : {"", "16", "16x32", "16x32x64x2", "16X32x64", "16x32x6.4", "16x32x64 ", "axbxc", "16xx64"}) {
    const Failure failure = failure_of([&] { parse_sizes(text); });
    EXPECT_EQ(failure.code, ErrorCode::invalid_argument) << text;
  }
  EXPECT_NE(failure_of([] { parse_sizes("16x32"); }).message.find("'16x32' is not three sizes MxNxK"),
            std::string::npos);
}

}  // namespace
}  // namespace hotgemm
