#include "records/trace.hpp"

#include "records/sealed_line.hpp"
#include "unit/database_fixture.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <csignal>
#include <limits>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

const std::string kProblem = "64 64 64 nn f16 align=16";

std::vector<TraceLine> some_lines() {
  const TraceHeader header{
      "0.1.0", sample_record().environment, {{"mma.cuh", std::string(64, 'a')}, {"simt.cuh", std::string(64, 'b')}}};
  return {
      header, TraceSample{kProblem, "mma_x", "r8m", 0, 2, 12.125}, TraceSample{kProblem, "mma_y", "r4n", 1, 0, 1e-3},
      TraceRejection{kProblem, "mma_z", "r8m", "check", "wrong: \"é\"\n2 of 3"}, TraceTwin{kProblem, "mma_w", "mma_x"}};
}

std::string text_of(const std::vector<TraceLine>& lines) {
  std::string text;
  for (const TraceLine& line : lines) text += to_line(line) + "\n";
  return text;
}

TraceWriter writer_to(const std::filesystem::path& path, bool afresh, Warnings* warnings = nullptr) {
  return {AppendFile::at(path, afresh), warnings != nullptr ? warnings->sink() : Report()};
}

TEST(Trace, LinesRoundTrip) {
  const Trace trace = parse_trace(text_of(some_lines()));
  EXPECT_EQ(trace.lines, some_lines());
  EXPECT_EQ(trace.ignored, 0u);
}

TEST(Trace, TextsOfProblemsMayBeLongerThanOthers) {
  const std::string problem(kMaxProblemTextBytes, 'x');
  const std::vector<TraceLine> lines = {TraceSample{problem, "mma_x", "r8m", 0, 2, 12.125},
                                        TraceRejection{problem, "mma_z", "r8m", "check", "wrong"},
                                        TraceTwin{problem, "mma_w", "mma_x"}};
  EXPECT_EQ(parse_trace(text_of(lines)).lines, lines);
}

TEST(Trace, CutAtEachByteItKeepsTheWholeLines) {
  const std::string text = text_of(some_lines());
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const Trace trace = parse_trace(std::string_view(text).substr(0, length));
    EXPECT_EQ(trace.ignored, 0u);
    ASSERT_LE(trace.lines.size(), 5u);
    for (std::size_t i = 0; i < trace.lines.size(); ++i) EXPECT_EQ(trace.lines[i], some_lines()[i]) << length;
    const auto whole =
        static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<long>(length), '\n'));
    EXPECT_GE(trace.lines.size(), whole);
  }
}

TEST(Trace, DamagedLinesAreLeftOutAndCounted) {
  std::string text = text_of(some_lines());
  text[text.find("12.125")] = '9';
  const Trace trace = parse_trace(text + "noise\n");
  EXPECT_EQ(trace.lines.size(), 4u);
  EXPECT_EQ(trace.ignored, 2u);
}

TEST(Trace, RefusesWhatCannotBeReadBack) {
  EXPECT_THROW(to_line(TraceSample{kProblem, "c", "l", 0, 0, std::numeric_limits<double>::quiet_NaN()}), Error);
  EXPECT_THROW(to_line(TraceSample{"\xff", "c", "l", 0, 0, 1}), Error);
  const std::string line = to_line(TraceRejection{kProblem, "c", "l", "check", std::string(1000, 'x') + "\xff"});
  EXPECT_EQ(parse_trace(line).lines.size(), 1u);
}

TEST(TraceWriter, WritesOnFlushAndAtTheEnd) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "trace.jsonl";
  const std::vector<TraceLine> lines = some_lines();
  {
    TraceWriter writer = writer_to(path, true);
    writer.add(lines[0]);
    EXPECT_EQ(read_file(path), "");
    writer.flush();
    EXPECT_EQ(read_file(path), text_of({lines[0]}));
    writer.add(lines[1]);
  }
  EXPECT_EQ(read_file(path), text_of({lines[0], lines[1]}));
  { TraceWriter writer = writer_to(path, true); }
  EXPECT_EQ(read_file(path), "");
}

TEST(TraceWriter, GoesOnAfterATornLine) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "trace.jsonl";
  const std::vector<TraceLine> lines = some_lines();
  write_file(path, text_of({lines[0]}) + to_line(lines[1]).substr(0, 40));
  writer_to(path, false).add(lines[2]);
  const std::vector<TraceLine> expected = {lines[0], lines[2]};
  EXPECT_EQ(parse_trace(read_file(path)).lines, expected);
}

TEST(TraceWriter, NamesAFileThatCannotBeOpened) {
  try {
    writer_to("/nonexistent/trace.jsonl", true);
    FAIL() << "opened";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/trace.jsonl"), std::string::npos);
  }
}

TEST(TraceWriter, AFullDiskIsReportedOnceAndLeavesWholeLines) {
  const TemporaryDirectory directory;
  const std::filesystem::path path = directory.path() / "trace.jsonl";
  Warnings warnings;
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit small { 500, before.rlim_max };
  {
    TraceWriter writer = writer_to(path, true, &warnings);
    writer.add(some_lines()[1]);
    writer.flush();
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    for (int i = 0; i < 20; ++i) {
      writer.add(some_lines()[1]);
      writer.add(some_lines()[2]);
      writer.flush();
    }
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  }
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(warnings.messages().size(), 1u);
  const std::string text = read_file(path);
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(parse_trace(text).ignored, 0u);
}

}  // namespace
}  // namespace hotgemm
