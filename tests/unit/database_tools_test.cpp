#include "records/database_tools.hpp"

#include "unit/database_fixture.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <sys/stat.h>

#include <cstdint>
#include <ctime>
#include <string>

namespace hotgemm {
namespace {

constexpr const char* kNewerLine = R"({"class":"8 8 8 nn f16 align=16","schema":9,"later":[]})";

std::string line_of(double median_us, std::int64_t time, const char* driver = "580.159") {
  TuningRecord record = sample_record();
  record.timing.median_us = median_us;
  record.environment.driver = driver;
  return to_line({record, time}) + "\n";
}

bool keep_all(const TuningRecord&) { return false; }

TEST(Lint, NamesFileLineAndReason) {
  const TemporaryDirectory directory;
  const std::filesystem::path file = directory.segments() / "x.jsonl";
  std::string damaged = line_of(1, 1);
  damaged[damaged.find("FX-1000")] = 'G';
  write_file(file, line_of(1, 1) + damaged + "\n" + kNewerLine + "\n" + line_of(2, 2) + line_of(3, 3).substr(0, 100));
  for (const std::filesystem::path& path : {file, directory.segments(), directory.path()}) {
    const auto findings = lint(path);
    ASSERT_EQ(findings.size(), 3u) << path;
    EXPECT_EQ(findings[0].file, file);
    EXPECT_EQ(findings[0].line, 2u);
    EXPECT_NE(findings[0].reason.find("damaged or edited"), std::string::npos);
    EXPECT_EQ(findings[1].line, 4u);
    EXPECT_NE(findings[1].reason.find("newer"), std::string::npos);
    EXPECT_EQ(findings[2].line, 6u);
    EXPECT_NE(findings[2].reason.find("ends within this line"), std::string::npos);
  }
}

TEST(Lint, CleanFileHasNoFindings) {
  const TemporaryDirectory directory;
  write_file(directory.path() / "any-name", line_of(1, 1));
  EXPECT_TRUE(lint(directory.path() / "any-name").empty());
}

TEST(Lint, NothingToReadIsAnError) {
  const TemporaryDirectory directory;
  EXPECT_THROW(lint(directory.path()), Error);
  EXPECT_THROW(lint(directory.path() / "missing.jsonl"), Error);
}

TEST(Merge, KeepsTheFastestOfEachEnvironmentWhateverTheOrder) {
  const TemporaryDirectory directory;
  const std::filesystem::path a = directory.path() / "a.jsonl", b = directory.path() / "b.jsonl",
                              out = directory.path() / "out.jsonl", reversed = directory.path() / "reversed.jsonl";
  write_file(a, line_of(5, 1) + "garbage\n" + line_of(7, 2, "590.1"));
  write_file(b, line_of(4, 1) + line_of(6, 3) + kNewerLine + "\n");
  const MergeReport report = merge({a, b}, out);
  EXPECT_EQ(report.kept, 3u);  // and the line of a newer schema
  EXPECT_EQ(report.superseded, 2u);
  EXPECT_EQ(report.ignored, 1u);
  merge({b, a}, reversed);
  EXPECT_EQ(read_file(out), read_file(reversed));
  EXPECT_NE(read_file(out).find(kNewerLine), std::string::npos);
  EXPECT_EQ(lint(out).size(), 1u);
  // The fastest record of the older driver gets the time of that driver's latest record, so that find still prefers
  // this driver.
  EXPECT_NE(read_file(out).find(line_of(4, 3)), std::string::npos) << read_file(out);
  EXPECT_NE(read_file(out).find(line_of(7, 2, "590.1")), std::string::npos);
  EXPECT_EQ(files_in(directory.path()).size(), 4u);  // no temporary file is left
}

/// A record that blocks decided under a power limit; 0: one that rounds decided.
std::string line_of_limit(double median_us, std::int64_t time, int power_limit_w) {
  TuningRecord record = with_median(sample_record(), median_us);
  record.power_limit_w = power_limit_w;
  record.measure = power_limit_w > 0 ? Measure::sustained : Measure::rounds;
  return to_line({record, time}) + "\n";
}

TEST(Merge, KeepsARecordOfEachPowerLimit) {
  const TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "a.jsonl", out = directory.path() / "out.jsonl";
  write_file(file,
             line_of_limit(3, 9, 0) + line_of_limit(5, 1, 700) + line_of_limit(6, 2, 600) + line_of_limit(7, 4, 700));
  const MergeReport report = merge({file}, out);
  EXPECT_EQ(report.kept, 2u);
  EXPECT_EQ(report.superseded, 2u);
  EXPECT_EQ(read_file(out), line_of_limit(6, 2, 600) + line_of_limit(5, 9, 700));
  // The time without a limit goes to the latest of the others, wherever that stands.
  std::filesystem::remove(out);
  write_file(file, line_of_limit(3, 9, 0) + line_of_limit(6, 4, 600) + line_of_limit(5, 2, 700));
  merge({file}, out);
  EXPECT_EQ(read_file(out), line_of_limit(6, 9, 600) + line_of_limit(5, 2, 700));
}

TEST(Merge, ReplacesAnInput) {
  const TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "a.jsonl";
  write_file(file, line_of(5, 1) + line_of(4, 1));
  merge({file}, file);
  EXPECT_EQ(read_file(file), line_of(4, 1));
}

TEST(Merge, KeepsTheRecordsOfItsOutput) {
  const TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "a.jsonl", out = directory.path() / "out.jsonl";
  write_file(file, line_of(5, 1));
  write_file(out, line_of(7, 2, "590.1") + line_of(6, 1) + kNewerLine + "\n");
  EXPECT_EQ(merge({file}, out).kept, 3u);
  EXPECT_NE(read_file(out).find(line_of(5, 1)), std::string::npos);
  EXPECT_NE(read_file(out).find(line_of(7, 2, "590.1")), std::string::npos);
  EXPECT_NE(read_file(out).find(kNewerLine), std::string::npos);
}

TEST(Merge, ChangesNothingThatWouldBeLost) {
  const TemporaryDirectory directory;
  const std::filesystem::path records = directory.path() / "a.jsonl", notes = directory.path() / "notes",
                              empty = directory.path() / "empty";
  write_file(records, line_of(5, 1));
  write_file(notes, "no record\n");
  write_file(empty, "");
  EXPECT_THROW(merge({notes}, records), Error);
  EXPECT_THROW(merge({records}, notes), Error);
  EXPECT_EQ(read_file(records), line_of(5, 1));
  EXPECT_EQ(read_file(notes), "no record\n");
  EXPECT_EQ(merge({empty}, records).kept, 1u);
  EXPECT_EQ(merge({empty}, directory.path() / "new").kept, 0u);
}

TEST(Merge, KeepsTheModeOfItsOutputWhateverTheUmask) {
  const TemporaryDirectory directory;
  const std::filesystem::path file = directory.path() / "a.jsonl", fresh = directory.path() / "new.jsonl";
  write_file(file, line_of(5, 1));
  ASSERT_EQ(::chmod(file.c_str(), 0644), 0);
  const mode_t before = ::umask(077);
  merge({file}, file);
  merge({file}, fresh);
  ::umask(before);
  const auto mode_of = [](const std::filesystem::path& path) {
    return static_cast<unsigned>(std::filesystem::status(path).permissions());
  };
  EXPECT_EQ(mode_of(file), 0644u);
  EXPECT_EQ(mode_of(fresh), 0600u);
}

TEST(Merge, CountsATimeInTheFutureAsNone) {
  const std::int64_t future = std::time(nullptr) + 2 * 24 * 3600;
  const TemporaryDirectory directory;
  const std::filesystem::path a = directory.path() / "a.jsonl", b = directory.path() / "b.jsonl",
                              out = directory.path() / "out.jsonl";
  write_file(a, line_of(5, 100) + line_of(6, future, "590.1"));
  write_file(b, line_of(4, future) + line_of(7, future + 1, "590.1"));
  merge({a, b}, out);
  EXPECT_EQ(read_file(out), line_of(4, 100) + line_of(6, future + 1, "590.1"));
  std::filesystem::remove(out);
  merge({b, a}, out);
  EXPECT_EQ(read_file(out), line_of(4, 100) + line_of(6, future + 1, "590.1"));
  // The time of the record without a power limit goes to the latest of the others.
  write_file(a, line_of_limit(3, future, 0) + line_of_limit(6, future, 600) + line_of_limit(5, 9, 700));
  std::filesystem::remove(out);
  merge({a}, out);
  EXPECT_EQ(read_file(out), line_of_limit(6, future, 600) + line_of_limit(5, 9, 700));
}

TEST(Merge, SaysWhatItCannotWrite) {
  const TemporaryDirectory directory;
  write_file(directory.path() / "a.jsonl", line_of(5, 1));
  try {
    merge({directory.path() / "a.jsonl"}, "/nonexistent/out.jsonl");
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::io_error);
    EXPECT_NE(std::string(error.what()).find("/nonexistent/out.jsonl"), std::string::npos) << error.what();
  }
}

TEST(Prune, CompactsAndDropsWhatIsChosen) {
  const TemporaryDirectory directory;
  write_file(directory.segments() / "a.jsonl", line_of(5, 1) + line_of(9, 1, "old") + "garbage\n");
  write_file(directory.segments() / "b.jsonl", line_of(4, 1) + kNewerLine + "\n");
  const PruneReport report =
      prune(directory.path(), false, [](const TuningRecord& record) { return record.environment.driver == "old"; });
  EXPECT_EQ(report.kept, 2u);
  EXPECT_EQ(report.dropped, 1u);
  EXPECT_EQ(report.superseded, 1u);
  EXPECT_EQ(report.unusable, 1u);
  EXPECT_EQ(report.segments_in_use, 0u);
  const auto files = files_in(directory.segments());
  ASSERT_EQ(files.size(), 1u);
  EXPECT_EQ(read_file(files[0]), std::string(kNewerLine) + "\n" + line_of(4, 1));
}

TEST(Prune, KeepsUndamagedLinesThatItCannotUse) {
  const std::string good = to_line({sample_record(), 1});
  const std::string new_word = edited(good, "mma_m128", "mmb_m128") + "\n",
                    new_field = edited(good, "\"samples\":21", "\"samples\":21,\"extra\":1") + "\n";
  const TemporaryDirectory directory;
  std::string damaged = good;
  damaged[damaged.find("FX-1000")] = 'G';
  write_file(directory.segments() / "a.jsonl",
             new_word + damaged + "\n" + good + "\n" + new_field + good.substr(0, 99));
  const PruneReport report = prune(directory.path(), false, keep_all);
  EXPECT_EQ(report.kept, 3u);
  EXPECT_EQ(report.unusable, 2u);
  ASSERT_EQ(files_in(directory.segments()).size(), 1u);
  EXPECT_EQ(read_file(files_in(directory.segments())[0]), new_word + new_field + good + "\n");
  EXPECT_EQ(Database{user_layer(directory)}.forget(sample_record().problem).records, 1u);
  ASSERT_EQ(files_in(directory.segments()).size(), 1u);
  EXPECT_EQ(read_file(files_in(directory.segments())[0]), new_word + new_field);
}

TEST(Prune, LeavesSegmentsOfLivingWritersAlone) {
  const TemporaryDirectory directory;
  write_file(directory.segments() / "a.jsonl", line_of(5, 1));
  {
    Database writer{user_layer(directory)};
    writer.add(sample_record("8 8 8 nn f16"));
    const PruneReport report = prune(directory.path(), false, [](const TuningRecord&) { return true; });
    EXPECT_EQ(report.segments_in_use, 1u);
    EXPECT_EQ(report.dropped, 1u);
    writer.add(sample_record("16 8 8 nn f16"));
  }
  EXPECT_EQ(Database{user_layer(directory)}.all().size(), 2u);
  EXPECT_EQ(prune(directory.path(), false, keep_all).kept, 2u);  // the writer is gone
}

TEST(Prune, EmptyAndMissingLayersAreFine) {
  const TemporaryDirectory directory;
  EXPECT_EQ(prune(directory.path(), false, keep_all).kept, 0u);
  EXPECT_EQ(prune(directory.path() / "missing", false, keep_all).kept, 0u);
  write_file(directory.segments() / "a.jsonl", line_of(5, 1));
  prune(directory.path(), false, [](const TuningRecord&) { return true; });
  EXPECT_TRUE(files_in(directory.segments()).empty());
}

TEST(Diff, ListsWhatIsMissingAndWhereThePicksDiffer) {
  const TemporaryDirectory directory;
  const std::filesystem::path a = directory.path() / "a.jsonl", b = directory.path() / "b.jsonl";
  const TuningRecord record = sample_record();
  TuningRecord other_pick = record;
  other_pick.launch = {8, true};
  const auto lines = [](std::initializer_list<StoredRecord> records) { return lines_of(records); };
  write_file(a, lines({{record, 1}, {sample_record("8 8 8 nn f16 align=16"), 1}, {on_gpu(record, "FX-2", 9), 1}}));
  write_file(b, lines({{other_pick, 1}, {sample_record("8 8 8 nn f16 align=16"), 9}}) + "garbage\n");
  const DiffReport report = diff(a, b);
  EXPECT_EQ(report.same, 1u);  // another time is no other pick
  EXPECT_EQ(report.ignored, 1u);
  ASSERT_EQ(report.differences.size(), 2u);
  EXPECT_EQ(report.differences[0].first->environment.gpu, "FX-2");
  EXPECT_FALSE(report.differences[0].second);
  EXPECT_EQ(report.differences[1].first->launch, record.launch);
  EXPECT_EQ(report.differences[1].second->launch, other_pick.launch);
  EXPECT_TRUE(diff(a, a).differences.empty());
  // A later record decides, and a provisional one only where there is no other.
  TuningRecord provisional = other_pick;
  provisional.is_provisional = true;
  write_file(b, lines({{record, 1}, {provisional, 2}, {sample_record("8 8 8 nn f16 align=16"), 9}}));
  EXPECT_EQ(diff(a, b).differences.size(), 1u);
  EXPECT_THROW(diff(a, directory.path() / "missing"), Error);
}

TEST(Diff, ComparesEachObjectiveAlone) {
  const TemporaryDirectory directory;
  TuningRecord frugal = sample_record();
  frugal.launch = {8, true};
  frugal.objective = Objective::energy;
  frugal.measure = Measure::sustained;
  frugal.joules = 1;
  write_file(directory.path() / "a.jsonl", lines_of({{sample_record(), 1}, {frugal, 2}}));
  EXPECT_EQ(diff(directory.path() / "a.jsonl", directory.path() / "a.jsonl").same, 2u);
}

TEST(Diff, ComparesThePicksOfADatabase) {
  const TemporaryDirectory directory, elsewhere;
  const std::filesystem::path merged = elsewhere.path() / "merged.jsonl";
  TuningRecord slower = sample_record();
  slower.launch = {8, true};
  slower.timing.median_us *= 2;
  write_file(directory.segments() / "a.jsonl", lines_of({{sample_record(), 1}, {slower, 2}}));
  const std::optional<Found> pick = Database{user_layer(directory)}.find(slower.problem, {});
  ASSERT_EQ(pick->record.launch, sample_record().launch) << "of equal conditions, the faster one";
  merge({directory.path()}, merged);
  EXPECT_TRUE(diff(directory.path(), merged).differences.empty());
  // Another driver's times say nothing beside these, and the latest decides.
  slower.environment.driver = "999";
  write_file(directory.segments() / "a.jsonl", lines_of({{sample_record(), 1}, {slower, 2}}));
  EXPECT_EQ(diff(directory.path(), merged).differences.size(), 1u);
}

}  // namespace
}  // namespace hotgemm
