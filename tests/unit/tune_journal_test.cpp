#include "records/tune_journal.hpp"

#include "unit/database_fixture.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

using Status = JournalEntry::Status;

const std::string kDigest(64, 'd');

std::vector<Workload> some_problems() {
  std::vector<Workload> problems;
  for (const char* text : {"64 64 64 nn f16", "128 64 64 nt f16", "256 64 64 tn f16"}) {
    problems.push_back(parse_workload(text));
  }
  return problems;
}

const JournalEntry kDone{Status::done, ""};
const JournalEntry kPartial{Status::partial, ""};
const JournalEntry kFailed{Status::failed, "no candidate survived:\n  \"wrong\""};

LayerOptions options_at(const TemporaryDirectory& directory, Warnings* warnings = nullptr) {
  LayerOptions options;
  options.user_directory = directory.path();
  if (warnings != nullptr) options.warn = warnings->sink();
  return options;
}

std::filesystem::path file_of(const TemporaryDirectory& directory) {
  return directory.path() / "v1" / "tune" / (kDigest + ".jsonl");
}

/// Writes a journal of three problems and returns its text.
std::string fill(const TemporaryDirectory& directory) {
  const std::vector<Workload> problems = some_problems();
  TuneJournal journal{options_at(directory), kDigest, false};
  journal.add(problems[0], kDone);
  journal.add(problems[1], kFailed);
  journal.add(problems[2], kPartial);
  return read_file(file_of(directory));
}

TEST(TuneJournal, ResumesWhatWasFinished) {
  const TemporaryDirectory directory;
  fill(directory);
  const std::vector<Workload> problems = some_problems();
  const TuneJournal journal{options_at(directory), kDigest, true};
  EXPECT_EQ(journal.status(problems[0]), kDone);
  EXPECT_EQ(journal.status(problems[1]), kFailed);
  EXPECT_EQ(journal.status(problems[2]), kPartial);
  EXPECT_FALSE(journal.status(parse_workload("8 8 8 nn f16")));
}

TEST(TuneJournal, BeginsAfreshUnlessResumed) {
  const TemporaryDirectory directory;
  fill(directory);
  EXPECT_FALSE((TuneJournal{options_at(directory), kDigest, false}.status(some_problems()[0])));
  EXPECT_FALSE((TuneJournal{options_at(directory), kDigest, true}.status(some_problems()[0])));
}

TEST(TuneJournal, TheLastLineOfAProblemCounts) {
  const TemporaryDirectory directory;
  const Workload problem = some_problems()[0];
  {
    TuneJournal journal{options_at(directory), kDigest, false};
    journal.add(problem, kPartial);
    journal.add(problem, kDone);
    EXPECT_EQ(journal.status(problem), kDone);
  }
  EXPECT_EQ((TuneJournal{options_at(directory), kDigest, true}.status(problem)), kDone);
}

TEST(TuneJournal, AReasonMayHaveAnyBytes) {
  const TemporaryDirectory directory;
  const Workload problem = some_problems()[0];
  TuneJournal{options_at(directory), kDigest, false}.add(problem, {Status::failed, "\xff" + std::string(5000, 'x')});
  EXPECT_EQ((TuneJournal{options_at(directory), kDigest, true}.status(problem)->status), Status::failed);
}

TEST(TuneJournal, KilledAtEachByteItForgetsAtMostTheLastLine) {
  const TemporaryDirectory directory;
  const std::string text = fill(directory);
  const std::vector<Workload> problems = some_problems();
  const std::vector<JournalEntry> entries = {kDone, kFailed, kPartial};
  for (std::size_t length = 0; length <= text.size(); ++length) {
    write_file(file_of(directory), text.substr(0, length));
    std::size_t whole = 0;  // complete lines, with or without their newline
    for (std::size_t end = text.find('\n'); end != std::string::npos && end <= length; end = text.find('\n', end + 1)) {
      ++whole;
    }
    {
      TuneJournal journal{options_at(directory), kDigest, true};
      for (std::size_t i = 0; i < problems.size(); ++i) {
        EXPECT_EQ(journal.status(problems[i]), i < whole ? std::optional(entries[i]) : std::nullopt) << length;
      }
      journal.add(problems[2], kFailed);  // a torn line does not spoil the line after it
    }
    const TuneJournal resumed{options_at(directory), kDigest, true};
    EXPECT_EQ(resumed.status(problems[2]), kFailed) << length;
    EXPECT_EQ(resumed.status(problems[0]), whole > 0 ? std::optional(kDone) : std::nullopt) << length;
  }
}

TEST(TuneJournal, DamagedBytesNeverMeanDone) {
  const TemporaryDirectory directory;
  const std::string text = fill(directory);
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string damaged = text;
    damaged[i] = static_cast<char>(damaged[i] ^ 1);
    write_file(file_of(directory), damaged);
    const TuneJournal journal{options_at(directory), kDigest, true};
    const std::optional<JournalEntry> second = journal.status(some_problems()[1]);
    EXPECT_TRUE(!second || second == kFailed) << i;
  }
}

TEST(TuneJournal, OneRunAtATime) {
  const TemporaryDirectory directory;
  TuneJournal first{options_at(directory), kDigest, false};
  first.add(some_problems()[0], kDone);
  Warnings warnings;
  TuneJournal second{options_at(directory, &warnings), kDigest, false};
  ASSERT_EQ(warnings.messages().size(), 1u);
  EXPECT_NE(warnings.messages()[0].find("another process is appending to it"), std::string::npos);
  second.add(some_problems()[1], kDone);
  EXPECT_EQ(second.status(some_problems()[1]), kDone);
  first.add(some_problems()[2], kDone);
  const std::string text = read_file(file_of(directory));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
}

TEST(TuneJournal, RefusesSymbolicLinksAndForeignDirectories) {
  const TemporaryDirectory directory;
  const std::string text = fill(directory);
  write_file(directory.path() / "target", text);
  std::filesystem::remove(file_of(directory));
  std::filesystem::create_symlink(directory.path() / "target", file_of(directory));
  Warnings of_link, of_mode;
  EXPECT_FALSE((TuneJournal{options_at(directory, &of_link), kDigest, false}.status(some_problems()[0])));
  EXPECT_EQ(of_link.messages().size(), 1u);
  EXPECT_EQ(read_file(directory.path() / "target"), text);
  ::chmod(directory.path().c_str(), 0777);
  const TuneJournal untrusted{options_at(directory, &of_mode), kDigest, true};
  ASSERT_EQ(of_mode.messages().size(), 1u);
  EXPECT_NE(of_mode.messages()[0].find("others may write to it"), std::string::npos);
}

TEST(TuneJournal, NotWritableIsKeptInMemory) {
  const TemporaryDirectory directory;
  LayerOptions options = options_at(directory);
  options.writable = false;
  TuneJournal journal{options, kDigest, false};
  journal.add(some_problems()[0], kDone);
  EXPECT_EQ(journal.status(some_problems()[0]), kDone);
  EXPECT_TRUE(files_in(directory.path()).empty());
}

TEST(TuneJournal, TheDigestDependsOnAllItIsGiven) {
  std::vector<Workload> problems = some_problems();
  const std::string digest = journal_digest(problems, "rounds 7", "FX", "sm_90a");
  EXPECT_EQ(digest.size(), 64u);
  EXPECT_EQ(digest, journal_digest(problems, "rounds 7", "FX", "sm_90a"));
  EXPECT_NE(digest, journal_digest(problems, "rounds 8", "FX", "sm_90a"));
  EXPECT_NE(digest, journal_digest(problems, "rounds 7", "GX", "sm_90a"));
  EXPECT_NE(digest, journal_digest(problems, "rounds 7", "FX", "sm_80"));
  problems.pop_back();
  EXPECT_NE(digest, journal_digest(problems, "rounds 7", "FX", "sm_90a"));
}

}  // namespace
}  // namespace hotgemm
