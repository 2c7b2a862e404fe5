#include "records/rejection_log.hpp"

#include "unit/database_fixture.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace hotgemm {
namespace {

constexpr std::int64_t kNow = 1'900'000'000;

RejectionRecord sample(char digit = 'a') {
  RejectionRecord record;
  record.identity = std::string(64, digit);
  record.config = "mma_m128_n128_k32";
  record.problem = "4096 4096 512 nt f16 align=16";
  record.stage = "check";
  record.reason = "element (3, 5) of D is 7, not 8";
  record.environment = {"Fictional FX-1000", "sm_90a", 99, "580.159", "nvrtc-13.0-0123abcd"};
  record.time = kNow;
  record.expires = kNow + kRejectionLifetimeSeconds;
  return record;
}

std::filesystem::path segments(const TemporaryDirectory& directory) { return directory.path() / "v1" / "rejected"; }

RejectionLogOptions options_at(const TemporaryDirectory& directory, std::int64_t now = kNow,
                               Warnings* warnings = nullptr) {
  RejectionLogOptions options;
  options.user_directory = directory.path();
  options.now = [now] { return now; };
  if (warnings != nullptr) options.warn = warnings->sink();
  return options;
}

std::size_t count_of(const RejectionLogOptions& options) { return RejectionLog(options).all().size(); }

TEST(RejectionText, LinesRoundTrip) {
  RejectionRecord record = sample();
  record.reason = "a \"quote\", a\nnewline, é";
  const ParsedRejection parsed = parse_rejection(to_line(record));
  ASSERT_TRUE(parsed.record) << parsed.reason;
  EXPECT_EQ(*parsed.record, record);
  EXPECT_EQ(to_line(record).find('\n'), std::string::npos);
}

TEST(RejectionText, EveryDamagedByteAndEveryLostTailIsNoticed) {
  const std::string line = to_line(sample());
  for (std::size_t i = 0; i < line.size(); ++i) {
    EXPECT_FALSE(parse_rejection(line.substr(0, i)).record) << i;
    std::string damaged = line;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    EXPECT_FALSE(parse_rejection(damaged).record) << i;
  }
}

TEST(RejectionText, ValidChecksumsDoNotExcuseWhatALineSays) {
  const std::string line = to_line(sample());
  EXPECT_TRUE(parse_rejection(edited(line, "FX-1000", "FX-1001")).record);
  const std::vector<std::pair<std::string, std::string>> edits = {
      {"\"check\"", "\"chosen\""},
      {"aaaa", "AAAA"},
      {"\"sm_count\":99", "\"sm_count\":-1"},
      {"\"time\":", "\"tome\":"},
      {"\"time\":", "\"time\": "},
      {"\"reason\":\"", "\"reason\":\"" + std::string(300, 'x')},
      {"\"schema\":1", "\"schema\":0"}};
  for (const auto& [from, to] : edits) EXPECT_FALSE(parse_rejection(edited(line, from, to)).record) << to;
  const ParsedRejection newer = parse_rejection("{\"rejected\":\"x\",\"schema\":2,\"whatever\":1}");
  EXPECT_TRUE(newer.is_newer);
}

TEST(RejectionLog, RemembersAcrossObjects) {
  const TemporaryDirectory directory;
  RejectionLog log{options_at(directory)};
  EXPECT_FALSE(log.find(sample().identity, sample().environment));
  EXPECT_TRUE(files_in(directory.path()).empty());
  log.add(sample());
  EXPECT_EQ(log.find(sample().identity, sample().environment), sample());
  const RejectionLog other{options_at(directory)};
  EXPECT_EQ(other.find(sample().identity, sample().environment), sample());
  EXPECT_FALSE(other.find(sample('b').identity, sample().environment));
}

TEST(RejectionLog, FillsInTimesAndMakesTextsStorable) {
  const TemporaryDirectory directory;
  RejectionLog log{options_at(directory)};
  RejectionRecord record = sample();
  record.time = record.expires = 0;
  record.reason = "\xff" + std::string(252, 'x') + "é and more";  // bytes 256 and 257 are one character, as stored
  log.add(record);
  const auto found = RejectionLog(options_at(directory)).find(record.identity, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(found->time, kNow);
  EXPECT_EQ(found->expires, kNow + kRejectionLifetimeSeconds);
  EXPECT_EQ(found->reason, "\xef\xbf\xbd" + std::string(252, 'x'));
}

TEST(RejectionLog, RefusesWhatIsNoRejection) {
  RejectionLog log{{}};
  RejectionRecord no_kernel = sample(), no_stage = sample();
  no_kernel.identity = "abc";
  no_stage.stage = "build";
  for (const RejectionRecord& record : {no_kernel, no_stage}) {
    EXPECT_THROW(log.add(record), Error);
  }
  EXPECT_TRUE(log.all().empty());
}

TEST(RejectionLog, ComparesWhatIsKnownOfTheEnvironment) {
  RejectionLogOptions options;
  options.now = [] { return kNow; };
  RejectionLog log{options};
  log.add(sample());
  const auto is_found = [&](auto change) {
    Environment asked = sample().environment;
    change(asked);
    return log.find(sample().identity, asked).has_value();
  };
  EXPECT_FALSE(is_found([](Environment& e) { e.gpu = "another"; }));
  EXPECT_FALSE(is_found([](Environment& e) { e.driver = "581"; }));
  EXPECT_FALSE(is_found([](Environment& e) { e.toolchain = "nvrtc-12.9-x"; }));
  EXPECT_TRUE(is_found([](Environment& e) { e = Environment{}; }));
  RejectionRecord unknown = sample('b');
  unknown.environment.toolchain.clear();
  log.add(unknown);
  EXPECT_TRUE(log.find(unknown.identity, sample().environment));
}

TEST(RejectionLog, TheLatestOfAKernelCounts) {
  const TemporaryDirectory directory;
  RejectionRecord older = sample(), newer = sample();
  newer.reason = "again";
  newer.time += 10;
  RejectionLog log{options_at(directory, kNow + 20)};
  log.add(newer);
  log.add(older);
  EXPECT_EQ(log.find(older.identity, {})->reason, "again");
  const auto all = RejectionLog(options_at(directory, kNow + 20)).all();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].reason, "again");
}

TEST(RejectionLog, Expires) {
  std::int64_t now = kNow;
  RejectionLogOptions options;
  options.now = [&now] { return now; };
  RejectionLog log{options};
  log.add(sample());
  now = sample().expires - 1;
  EXPECT_TRUE(log.find(sample().identity, {}));
  now = sample().expires;
  EXPECT_FALSE(log.find(sample().identity, {}));
  EXPECT_TRUE(log.all().empty());
}

TEST(RejectionLog, AClockThatWasWrongDoesNotRejectForYears) {
  const TemporaryDirectory directory;
  RejectionRecord record = sample();
  record.time += std::int64_t{50} * 365 * 24 * 3600;
  record.expires = record.time + kRejectionLifetimeSeconds;
  write_file(segments(directory) / "x.jsonl", to_line(record) + "\n");
  EXPECT_EQ(count_of(options_at(directory)), 0u);
}

TEST(RejectionLog, RemovesSegmentsOfExpiredRecordsOnly) {
  const TemporaryDirectory directory;
  RejectionRecord expired = sample();
  expired.expires = kNow;
  const std::string spent = to_line(expired) + "\n";
  write_file(segments(directory) / "spent.jsonl", spent + spent + "{\"torn");
  write_file(segments(directory) / "empty.jsonl", "");
  write_file(segments(directory) / "mixed.jsonl", spent + to_line(sample()) + "\n");
  write_file(segments(directory) / "newer.jsonl", spent + "{\"rejected\":\"x\",\"schema\":2}\n");
  RejectionLogOptions reading = options_at(directory);
  reading.writable = false;
  EXPECT_EQ(count_of(reading), 1u);
  EXPECT_EQ(files_in(segments(directory)).size(), 4u);
  EXPECT_EQ(count_of(options_at(directory)), 1u);
  EXPECT_FALSE(std::filesystem::exists(segments(directory) / "spent.jsonl"));
  EXPECT_FALSE(std::filesystem::exists(segments(directory) / "empty.jsonl"));
  EXPECT_EQ(read_file(segments(directory) / "mixed.jsonl"), spent + to_line(sample()) + "\n");
  EXPECT_TRUE(std::filesystem::exists(segments(directory) / "newer.jsonl"));
}

TEST(RejectionLog, KeepsASegmentThatGrewAfterItWasRead) {
  const TemporaryDirectory directory;
  RejectionRecord expired = sample();
  expired.expires = kNow;
  write_file(segments(directory) / "spent.jsonl", to_line(expired) + "\n");
  write_file(segments(directory) / "damaged.jsonl", "noise\n" + to_line(sample('b')) + "\n");
  RejectionLogOptions options = options_at(directory);
  options.warn = [&](const std::string&) {  // comes between reading and removing
    std::ofstream(segments(directory) / "spent.jsonl", std::ios::app) << to_line(sample('c')) << "\n";
  };
  EXPECT_EQ(count_of(options), 1u);
  EXPECT_EQ(count_of(options_at(directory)), 2u);
}

TEST(RejectionLog, LeavesTheSegmentOfALiveWriterAlone) {
  const TemporaryDirectory directory;
  const std::int64_t later = sample().expires;
  std::optional<RejectionLog> writer(options_at(directory));
  writer->add(sample());
  EXPECT_EQ(count_of(options_at(directory, later)), 0u);
  ASSERT_EQ(files_in(segments(directory)).size(), 1u);
  RejectionRecord record = sample('b');
  record.time = record.expires = later;
  record.expires += 100;
  writer->add(record);
  EXPECT_EQ(count_of(options_at(directory, later)), 1u);  // removing the file would have lost it
  writer.reset();
  EXPECT_EQ(count_of(options_at(directory, later + 100)), 0u);
  EXPECT_TRUE(files_in(segments(directory)).empty());
}

TEST(RejectionLog, DamageIsALineLessAndAWarning) {
  const TemporaryDirectory directory;
  std::string damaged = to_line(sample('b'));
  damaged[100] = static_cast<char>(damaged[100] ^ 1);
  write_file(segments(directory) / "x.jsonl",
             damaged + "\nnoise\n" + to_line(sample()) + "\n" + to_line(sample('c')).substr(0, 90));
  Warnings warnings;
  EXPECT_EQ(count_of(options_at(directory, kNow, &warnings)), 1u);
  ASSERT_EQ(warnings.messages().size(), 1u);
  EXPECT_NE(warnings.messages()[0].find("x.jsonl:1: "), std::string::npos);
}

TEST(RejectionLog, RefusesForeignDirectoriesAndSymbolicLinks) {
  const TemporaryDirectory directory, elsewhere;
  write_file(elsewhere.path() / "target", to_line(sample()) + "\n");
  std::filesystem::create_directories(segments(directory));
  std::filesystem::create_symlink(elsewhere.path() / "target", segments(directory) / "link.jsonl");
  Warnings of_link;
  EXPECT_EQ(count_of(options_at(directory, kNow, &of_link)), 0u);
  EXPECT_EQ(of_link.messages().size(), 1u);
  write_file(segments(directory) / "x.jsonl", to_line(sample()) + "\n");
  ::chmod(segments(directory).c_str(), 0777);
  Warnings of_mode;
  RejectionLogOptions options = options_at(directory, kNow, &of_mode);
  EXPECT_EQ(count_of(options), 0u);
  ASSERT_EQ(of_mode.messages().size(), 1u);
  EXPECT_NE(of_mode.messages()[0].find("others may write to it"), std::string::npos);
  options.trust_shared = true;
  EXPECT_EQ(count_of(options), 1u);
}

TEST(RejectionLog, NotWritableAndTroubleWithTheDiskKeepRecordsInMemory) {
  const TemporaryDirectory directory;
  Warnings warnings;
  RejectionLogOptions options = options_at(directory, kNow, &warnings);
  options.writable = false;
  RejectionLog silent{options};
  silent.add(sample());
  EXPECT_EQ(silent.all().size(), 1u);
  EXPECT_TRUE(files_in(directory.path()).empty());
  EXPECT_TRUE(warnings.messages().empty());

  write_file(directory.path() / "v1", "in the way");
  options.writable = true;
  RejectionLog troubled{options};
  const std::size_t before = warnings.messages().size();
  troubled.add(sample());
  troubled.add(sample('b'));
  EXPECT_EQ(troubled.all().size(), 2u);
  ASSERT_EQ(warnings.messages().size(), before + 1);
  EXPECT_NE(warnings.messages().back().find("kept in memory only"), std::string::npos);
}

TEST(RejectionLog, AKilledWriterLosesNothingItAdded) {
  const TemporaryDirectory directory;
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    RejectionLog log{options_at(directory)};
    log.add(sample());
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(count_of(options_at(directory)), 1u);
}

TEST(RejectionLog, ManyThreadsAdd) {
  const TemporaryDirectory directory;
  RejectionLog log{options_at(directory)};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&log, t] {
      for (int i = 0; i < 50; ++i) {
        log.add(sample("abcd"[t]));
        if (!log.find(sample("abcd"[t]).identity, {})) ADD_FAILURE() << "its own record is not found";
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(log.all().size(), 200u);
  EXPECT_EQ(count_of(options_at(directory)), 200u);
}

TEST(RejectionLog, ClearForgetsAllButWhatIsInUse) {
  const TemporaryDirectory directory;
  EXPECT_EQ(clear_rejections(directory.path(), false).removed, 0u);
  write_file(segments(directory) / "x.jsonl", to_line(sample()) + "\n" + to_line(sample('b')) + "\n");
  RejectionLog writer{options_at(directory)};
  writer.add(sample('c'));
  const ClearReport report = clear_rejections(directory.path(), false);
  EXPECT_EQ(report.removed, 2u);
  EXPECT_EQ(report.segments_in_use, 1u);
  EXPECT_EQ(count_of(options_at(directory)), 1u);
}

TEST(RejectionLog, ReloadsTheRecordsOfOthers) {
  const TemporaryDirectory directory;
  RejectionLog log(options_at(directory));
  log.add(sample('a'));
  RejectionLog(options_at(directory)).add(sample('b'));
  EXPECT_FALSE(log.find(sample('b').identity, sample().environment));
  log.reload();
  EXPECT_TRUE(log.find(sample('b').identity, sample().environment));
  EXPECT_EQ(log.all().size(), 2u) << "its own record counts once";
  std::filesystem::remove_all(segments(directory));
  log.reload();
  EXPECT_EQ(log.all().size(), 1u) << "what it has added stays";
}

}  // namespace
}  // namespace hotgemm
