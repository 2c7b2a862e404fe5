#include "records/database_files.hpp"
#include "records/append_file.hpp"
#include "records/attempt_mark.hpp"
#include "records/cublas_choices.hpp"
#include "records/database_tools.hpp"

#include "unit/database_fixture.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

mode_t mode_of(const std::filesystem::path& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0) << path;
  return status.st_mode & 07777;
}

TEST(DatabaseFiles, CreatesPrivateDirectoriesAndFilesWhateverTheUmask) {
  for (const mode_t umask : {0u, 0377u}) {
    const TemporaryDirectory directory;
    DatabaseOptions options;
    options.user_directory = directory.path() / "a" / "b";
    const mode_t before = ::umask(umask);
    Database database{options};
    database.add(sample_record());
    ::umask(before);
    for (const char* part : {"a", "a/b", "a/b/v1", "a/b/v1/db"})
      EXPECT_EQ(mode_of(directory.path() / part), 0700u) << part;
    const auto files = files_in(options.user_directory / "v1" / "db");
    ASSERT_EQ(files.size(), 1u);
    EXPECT_EQ(mode_of(files[0]), 0600u);
  }
}

TEST(DatabaseFiles, ASharedDirectoryHandsItsModeDown) {
  const TemporaryDirectory directory;
  ASSERT_EQ(::chmod(directory.path().c_str(), 02770), 0);
  LayerOptions layer{.user_directory = directory.path(), .writable = true, .trust_shared = true, .warn = {}};
  DatabaseOptions options;
  options.user_directory = directory.path();
  options.trust_shared = true;
  const mode_t before = ::umask(022);
  Database{options}.add(sample_record());
  prune(directory.path(), true, [](const TuningRecord&) { return false; });
  AttemptMark mark(layer);
  const RejectionRecord attempt{.identity = std::string(64, 'a'),
                                .config = "simt_m32",
                                .problem = "8 16 8 nn f16",
                                .stage = "check",
                                .reason = "fault: it ended its process",
                                .environment = sample_record().environment};
  mark.set({&attempt, 1});
  const AppendFile journal = AppendFile::in_layer(directory.path(), kTuneJournals, "x.jsonl", true, false);
  CublasChoices(layer).keep({}, {});
  ::umask(before);
  const std::filesystem::path top = directory.path() / "v1";
  EXPECT_EQ(mode_of(top), 02770u);
  for (const char* kind : {kTuningRecords, kAttempts, kTuneJournals, kCublasChoices}) {
    EXPECT_EQ(mode_of(top / kind), 02770u) << kind;
    const auto files = files_in(top / kind);
    ASSERT_EQ(files.size(), 1u) << kind;
    EXPECT_EQ(mode_of(files[0]), 0660u) << kind;
  }
}

TEST(DatabaseFiles, OpeningCreatesNothing) {
  const TemporaryDirectory directory;
  const Database database{user_layer(directory)};
  EXPECT_TRUE(files_in(directory.path()).empty());
}

TEST(DatabaseFiles, NotWritableKeepsRecordsInMemoryInSilence) {
  const TemporaryDirectory directory;
  Warnings warnings;
  DatabaseOptions options = user_layer(directory, &warnings);
  options.writable = false;
  Database database{options};
  database.add(sample_record());
  EXPECT_TRUE(database.find(sample_record().problem, sample_query()));
  EXPECT_TRUE(files_in(directory.path()).empty());
  EXPECT_TRUE(warnings.messages().empty());
}

TEST(DatabaseFiles, ATornTailIsIgnoredInSilence) {
  const TemporaryDirectory directory;
  const std::string good = lines_of({{sample_record(), 1}}), tail = to_line({sample_record("8 8 8 nn f16"), 1});
  for (const std::size_t length : {std::size_t{3}, tail.size() / 2, tail.size() - 1, tail.size()}) {
    write_file(directory.segments() / "x.jsonl", good + tail.substr(0, length));
    Warnings warnings;
    const Database database{user_layer(directory, &warnings)};
    EXPECT_EQ(database.all().size(), length == tail.size() ? 2u : 1u);  // a record even without its newline
    EXPECT_EQ(database.dropped(), 0u);
    EXPECT_TRUE(warnings.messages().empty());
  }
}

TEST(DatabaseFiles, RefusesADirectoryThatOthersMayChange) {
  const TemporaryDirectory directory;
  write_file(directory.segments() / "x.jsonl", lines_of({{sample_record(), 1}}));
  for (const std::filesystem::path& path : {directory.path(), directory.path() / "v1", directory.segments()}) {
    ::chmod(path.c_str(), 0777);
    Warnings warnings;
    DatabaseOptions options = user_layer(directory, &warnings);
    Database database{options};
    EXPECT_EQ(median_found(database), -1) << path;
    ASSERT_EQ(warnings.messages().size(), 1u);
    EXPECT_NE(warnings.messages()[0].find(path.string() + ": others may write to it"), std::string::npos);
    database.add(sample_record());
    EXPECT_EQ(median_found(database), 123.25);
    EXPECT_EQ(files_in(directory.segments()).size(), 1u);
    options.trust_shared = true;
    EXPECT_EQ(median_found(Database{options}), 123.25) << path;
    ::chmod(path.c_str(), 0700);
  }
}

TEST(DatabaseFiles, EveryLayerIsCheckedAlike) {
  const TemporaryDirectory user, layer, shipped;
  DatabaseOptions options = user_layer(user);
  options.read_only_layers = {layer.path()};
  options.shipped = shipped.path();
  const std::vector<std::filesystem::path> files{user.segments() / "x.jsonl", layer.path() / "x.jsonl",
                                                 layer.segments() / "x.jsonl", shipped.path() / "x.jsonl"};
  for (const std::filesystem::path& file : files) {
    write_file(file, lines_of({{sample_record(), 1}}));
    for (const std::filesystem::path& path : {file, file.parent_path()}) {
      for (const mode_t mode : {0772u, 0720u}) {
        SCOPED_TRACE(path.string() + " " + std::to_string(mode));
        ::chmod(path.c_str(), mode);
        Warnings warnings;
        options.warn = warnings.sink();
        EXPECT_EQ(median_found(Database{options}), -1);
        ASSERT_EQ(warnings.messages().size(), 1u);
        EXPECT_NE(warnings.messages()[0].find(path.string()), std::string::npos) << warnings.messages()[0];
        EXPECT_NE(warnings.messages()[0].find("others may write to it"), std::string::npos) << warnings.messages()[0];
        options.trust_shared = true;
        EXPECT_EQ(median_found(Database{options}), 123.25);
        options.trust_shared = false;
      }
      ::chmod(path.c_str(), 0700);
    }
    EXPECT_EQ(median_found(Database{options}), 123.25);
    std::filesystem::remove(file);
  }
}

TEST(DatabaseFiles, AnotherOwnerOfTheShippedLayerIsTheLibrarysOnly) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give files away";
  const TemporaryDirectory shipped;
  write_file(shipped.path() / "x.jsonl", lines_of({{sample_record(), 1}}));
  for (const std::filesystem::path& path : {shipped.path(), shipped.path() / "x.jsonl"}) {
    ASSERT_EQ(::chown(path.c_str(), 12345, 12345), 0);
  }
  DatabaseOptions options;
  options.shipped = shipped.path();
  EXPECT_EQ(median_found(Database{options}), -1);
  options.shipped_owner = 12346;
  EXPECT_EQ(median_found(Database{options}), -1);
  options.shipped_owner = 12345;
  EXPECT_EQ(median_found(Database{options}), 123.25);
}

TEST(DatabaseFiles, RefusesForeignOwnersSymbolicLinksAndSpecialFiles) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root to give files away";
  const TemporaryDirectory directory, layer;
  const std::filesystem::path foreign = directory.segments() / "foreign.jsonl";
  write_file(foreign, lines_of({{sample_record(), 1}}));
  ASSERT_EQ(::chown(foreign.c_str(), 12345, 12345), 0);
  const std::filesystem::path target = layer.path() / "target";
  write_file(target, lines_of({{sample_record(), 1}}));
  std::filesystem::create_symlink(target, directory.segments() / "link.jsonl");
  ASSERT_EQ(::mkfifo((directory.segments() / "fifo.jsonl").c_str(), 0600), 0);
  std::filesystem::create_directory(directory.segments() / "directory.jsonl");
  Warnings warnings;
  EXPECT_EQ(median_found(Database{user_layer(directory, &warnings)}), -1);
  EXPECT_EQ(warnings.messages().size(), 4u);
  ASSERT_EQ(::chown(directory.path().c_str(), 12345, 12345), 0);
  Warnings of_owner;
  EXPECT_EQ(median_found(Database{user_layer(directory, &of_owner)}), -1);
  ASSERT_EQ(of_owner.messages().size(), 1u);
  EXPECT_NE(of_owner.messages()[0].find("belongs to user 12345"), std::string::npos);
}

/// The modes in which this process has files of `directory` open.
std::vector<int> open_modes(const std::filesystem::path& directory) {
  std::vector<int> modes;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    if (std::filesystem::read_symlink(entry.path(), ignored).parent_path() != directory) continue;
    modes.push_back(::fcntl(std::stoi(entry.path().filename().string()), F_GETFL) & O_ACCMODE);
  }
  return modes;
}

TEST(DatabaseFiles, ASegmentIsOpenForReadingAndWriting) {
  const TemporaryDirectory directory;
  Database writer{user_layer(directory)};
  writer.add(sample_record());
  EXPECT_EQ(open_modes(directory.segments()), std::vector{O_RDWR}) << "a shared lock on NFS needs reading";
  const auto file = files_in(directory.path() / "v1" / "db").at(0);
  const FileDescriptor opened = FileDescriptor(::open(directory.segments().c_str(), O_RDONLY | O_DIRECTORY));
  EXPECT_FALSE(lock_segment(opened.get(), file.filename().string())) << "its writer lives";
}

TEST(DatabaseFiles, AForkedChildKeepsNoSegmentAndMakesItsOwn) {
  const TemporaryDirectory directory;
  std::optional<Database> writer(user_layer(directory));
  writer->add(sample_record("8 8 8 nn f16"));
  int ready[2], go[2];
  ASSERT_EQ(::pipe(ready), 0);
  ASSERT_EQ(::pipe(go), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    char byte = 'r';
    bool good = ::write(ready[1], &byte, 1) == 1 && ::read(go[0], &byte, 1) == 1;
    good = good && files_in(directory.segments()).size() == 1;
    writer->add(sample_record("16 8 8 nn f16"));
    ::_exit(good && files_in(directory.segments()).size() == 2 ? 0 : 1);
  }
  char byte = 0;
  EXPECT_EQ(::read(ready[0], &byte, 1), 1);
  const FileDescriptor opened = FileDescriptor(::open(directory.segments().c_str(), O_RDONLY | O_DIRECTORY));
  const std::string name = files_in(directory.segments()).at(0).filename().string();
  EXPECT_FALSE(lock_segment(opened.get(), name));
  writer.reset();
  EXPECT_TRUE(lock_segment(opened.get(), name)) << "although the child lives";
  EXPECT_EQ(::write(go[1], "g", 1), 1);
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Database{user_layer(directory)}.all().size(), 2u);
  for (const int fd : {ready[0], ready[1], go[0], go[1]}) ::close(fd);
}

/// A file of more than 64 MiB, most of it a hole, with a record before and after it.
void write_large_file(const std::filesystem::path& path) {
  write_file(path, lines_of({{sample_record("8 8 8 nn f16"), 1}}));
  std::filesystem::resize_file(path, std::uintmax_t{65} << 20);
  std::ofstream(path, std::ios::app | std::ios::binary) << '\n' << lines_of({{sample_record(), 1}});
}

TEST(DatabaseFiles, AFileMayHaveAnySize) {
  const TemporaryDirectory directory;
  write_large_file(directory.segments() / "x.jsonl");
  const std::filesystem::path merged = directory.path() / "merged.jsonl";
  EXPECT_EQ(median_found(Database{user_layer(directory)}), 123.25);
  EXPECT_EQ(lint(directory.path()).size(), 1u) << "the hole";
  EXPECT_EQ(merge({directory.path()}, merged).kept, 2u);
  EXPECT_EQ(lint(merged).size(), 0u);
  EXPECT_EQ(prune(directory.path(), false, [](const TuningRecord&) { return false; }).kept, 2u);
  EXPECT_LT(std::filesystem::file_size(files_in(directory.segments()).at(0)), 2000u);
  EXPECT_EQ(median_found(Database{user_layer(directory)}), 123.25);
}

TEST(DatabaseFiles, WhatIsMovedWhileItIsReadIsReadAgain) {
  const TemporaryDirectory directory;
  const std::filesystem::path first = directory.segments() / "a.jsonl", second = directory.segments() / "b.jsonl";
  write_file(first, lines_of({{sample_record("8 8 8 nn f16"), 1}}));
  write_file(second, lines_of({{sample_record(), 1}}));
  ::chmod(first.c_str(), 0666);
  std::vector<std::string> messages;
  DatabaseOptions options = user_layer(directory);
  options.warn = [&](const std::string& message) {  // that the first file is left out: the names have been listed then
    messages.push_back(message);
    std::error_code ignored;
    std::filesystem::rename(second, directory.segments() / "moved.jsonl", ignored);
  };
  const Database database{options};
  EXPECT_EQ(median_found(database), 123.25);
  EXPECT_EQ(database.all().size(), 1u);
  EXPECT_EQ(messages.size(), 1u) << "it is told once";
}

TEST(DatabaseFiles, TroubleWithTheDiskIsOneWarning) {
  const TemporaryDirectory directory;
  write_file(directory.path() / "file", "in the way");
  Warnings warnings;
  DatabaseOptions options = user_layer(directory, &warnings);
  options.user_directory = directory.path() / "file" / "below";
  Database database{options};
  const std::size_t before = warnings.messages().size();
  database.add(sample_record());
  database.add(with_median(sample_record(), 3));
  EXPECT_EQ(median_found(database), 3);
  ASSERT_EQ(warnings.messages().size(), before + 1);
  EXPECT_NE(warnings.messages().back().find("kept in memory only"), std::string::npos);
}

TEST(DatabaseFiles, AFullDiskCostsNothingThatWasWritten) {
  const TemporaryDirectory directory;
  Warnings warnings;
  Database database{user_layer(directory, &warnings)};
  database.add(sample_record());
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  struct rlimit before {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  const struct rlimit small { 700, before.rlim_max };  // only a part of the second line fits
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  database.add(sample_record("8 8 8 nn f16"));
  database.add(sample_record("9 8 8 nn f16"));
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_EQ(database.all().size(), 3u);
  EXPECT_EQ(warnings.messages().size(), 1u);
  const auto files = files_in(directory.segments());
  ASSERT_EQ(files.size(), 1u);
  const std::string text = read_file(files[0]);
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
  EXPECT_EQ(text.back(), '\n');
}

TEST(DatabaseFiles, TwoProcessesAppendAtOnce) {
  const TemporaryDirectory directory;
  constexpr int kEach = 200;
  std::vector<pid_t> children;
  for (int writer = 0; writer < 2; ++writer) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      Warnings warnings;
      Database database{user_layer(directory, &warnings)};
      for (int i = 0; i < kEach; ++i) {
        TuningRecord record = sample_record();
        record.problem.n = 8 * (1 + i + writer * kEach);
        database.add(record);
      }
      ::_exit(warnings.messages().empty() ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }
  const Database reader{user_layer(directory)};
  EXPECT_EQ(reader.all().size(), 2u * kEach);
  EXPECT_EQ(reader.dropped(), 0u);
  EXPECT_EQ(files_in(directory.segments()).size(), 2u);
}

}  // namespace
}  // namespace hotgemm
