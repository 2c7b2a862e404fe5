// Records that change while a database is open.

#include "records/database.hpp"
#include "unit/database_fixture.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace hotgemm {
namespace {

constexpr const char* kOtherClass = "128 4096 512 nt f16 align=16";

/// Adds a record as another process would.
void add_elsewhere(const TemporaryDirectory& directory, const TuningRecord& record) {
  Database(user_layer(directory)).add(record);
}

TEST(DatabaseReload, FindsTheRecordsOfOthers) {
  const TemporaryDirectory directory;
  Database database(user_layer(directory));
  database.add(with_median(sample_record(), 200));
  add_elsewhere(directory, with_median(sample_record(), 100));
  EXPECT_EQ(median_found(database), 200);
  database.reload();
  EXPECT_EQ(median_found(database), 100);
  EXPECT_EQ(database.all().size(), 2u) << "its own record counts once";
  EXPECT_EQ(database.nearest(sample_record(kOtherClass).problem, sample_query(), 4).size(), 1u);
  database.add(with_median(sample_record(), 50));
  EXPECT_EQ(median_found(database), 50);
  database.reload();
  EXPECT_EQ(median_found(database), 50);
  EXPECT_EQ(database.all().size(), 3u);
}

TEST(DatabaseReload, LosesWhatIsGone) {
  const TemporaryDirectory directory;
  add_elsewhere(directory, sample_record());
  Database database(user_layer(directory));
  EXPECT_NE(median_found(database), -1);
  std::filesystem::remove_all(directory.segments());
  database.reload();
  EXPECT_EQ(median_found(database), -1);
}

TEST(DatabaseReload, KeepsWhatIsInMemoryOnly) {
  const TemporaryDirectory directory;
  DatabaseOptions read_only = user_layer(directory);
  read_only.writable = false;
  for (const DatabaseOptions& options : {DatabaseOptions{}, read_only}) {
    Database database(options);
    database.add(with_median(sample_record(), 70));
    database.reload();
    EXPECT_EQ(median_found(database), 70);
    EXPECT_EQ(database.forget(sample_record().problem).records, 1u);
    EXPECT_EQ(median_found(database), -1);
    database.reload();
    EXPECT_EQ(median_found(database), -1);
  }
}

TEST(DatabaseForget, RemovesAClassFromMemoryAndDisk) {
  const TemporaryDirectory directory;
  add_elsewhere(directory, sample_record());
  add_elsewhere(directory, on_gpu(sample_record(), "Fictional FX-2000", 50));
  add_elsewhere(directory, sample_record(kOtherClass));
  Database database(user_layer(directory));
  database.add(with_median(sample_record(), 90));
  const Database::Forgotten forgotten = database.forget(sample_record().problem);
  EXPECT_EQ(forgotten.records, 3u);
  EXPECT_EQ(forgotten.segments_in_use, 0u);
  EXPECT_EQ(median_found(database), -1);
  EXPECT_TRUE(database.find(sample_record(kOtherClass).problem, sample_query()));
  EXPECT_EQ(Database(user_layer(directory)).all().size(), 1u);
  database.add(with_median(sample_record(), 95));
  EXPECT_EQ(median_found(database), 95) << "it may be measured again";
  EXPECT_EQ(median_found(Database(user_layer(directory))), 95);
}

TEST(DatabaseForget, LeavesLowerLayersAndFilesInUse) {
  const TemporaryDirectory directory, lower;
  add_elsewhere(lower, with_median(sample_record(), 300));
  Database writer(user_layer(directory));
  writer.add(with_median(sample_record(), 100));
  DatabaseOptions options = user_layer(directory);
  options.read_only_layers = {lower.path()};
  Database database(options);
  EXPECT_EQ(median_found(database), 100);
  const Database::Forgotten forgotten = database.forget(sample_record().problem);
  EXPECT_EQ(forgotten.records, 1u);
  EXPECT_EQ(forgotten.segments_in_use, 1u);
  EXPECT_EQ(median_found(database), 300);
  database.reload();
  EXPECT_EQ(median_found(database), 100) << "the writer still has it";
}

TEST(DatabaseReload, LookUpsGoOnMeanwhile) {
  const TemporaryDirectory directory;
  add_elsewhere(directory, sample_record());
  Database database(user_layer(directory));
  std::atomic<bool> is_over{false};
  std::thread reader([&] {
    do {
      EXPECT_NE(median_found(database), -1);
    } while (!is_over);
  });
  for (int i = 0; i < 20; ++i) {
    database.add(with_median(sample_record(), 200 + i));
    database.reload();
  }
  is_over = true;
  reader.join();
  EXPECT_EQ(database.all().size(), 21u);
}

}  // namespace
}  // namespace hotgemm
