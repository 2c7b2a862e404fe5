#include "records/database.hpp"

#include "unit/database_fixture.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <thread>
#include <vector>

namespace hotgemm {
namespace {

TEST(Database, WithoutADirectoryRemembersInMemory) {
  Database database{DatabaseOptions{}};
  EXPECT_FALSE(database.find(sample_record().problem, sample_query()));
  database.add(sample_record());
  const auto found = database.find(sample_record().problem, sample_query());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->record, sample_record());
  EXPECT_EQ(found->freshness, Freshness::current);
  EXPECT_EQ(found->layer, "memory");
}

TEST(Database, AddedRecordsAreFoundByTheNextProcess) {
  const TemporaryDirectory directory;
  Database writer{user_layer(directory)};
  Database earlier_reader{user_layer(directory)};
  writer.add(sample_record());
  writer.add(sample_record("8 4096 512 nt f16"));
  EXPECT_TRUE(writer.find(sample_record().problem, sample_query()));
  EXPECT_FALSE(earlier_reader.find(sample_record().problem, sample_query()));
  const Database reader{user_layer(directory)};
  const auto found = reader.find(sample_record().problem, sample_query());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->record, sample_record());
  EXPECT_EQ(found->layer, directory.path().string());
  EXPECT_EQ(reader.all().size(), 2u);
}

TEST(Database, AnyMOfTheClassIsFound) {
  Database database{DatabaseOptions{}};
  database.add(sample_record("4000 4096 512 nt f16"));
  for (const char* text : {"4096 4096 512 nt f16", "3841 4096 512 nt f16"}) {
    EXPECT_TRUE(database.find(parse_workload(text), sample_query())) << text;
  }
  for (const char* text : {"3840 4096 512 nt f16", "4097 4096 512 nt f16", "4096 4095 512 nt f16",
                           "4096 4096 512 nn f16", "4096 4096 512 nt bf16", "4096 4096 512 nt f16 acc=f16",
                           "4096 4096 512 nt f16 align=8", "4096 4096 512 nt f16 beta=1"}) {
    EXPECT_FALSE(database.find(parse_workload(text), sample_query())) << text;
  }
}

TEST(Database, RefusesAnIllegalRecord) {
  Database database{DatabaseOptions{}};
  TuningRecord record = sample_record();
  record.config = MmaConfig{.block_m = 17};
  EXPECT_THROW(database.add(record), Error);
  EXPECT_TRUE(database.all().empty());
}

TEST(Database, UpperLayersWin) {
  const TemporaryDirectory user, first, second, shipped;
  DatabaseOptions options = user_layer(user);
  options.read_only_layers = {first.path(), second.path(), "/nonexistent"};
  options.shipped = shipped.path();
  write_file(shipped.path() / "gpu.jsonl", lines_of({{with_median(sample_record(), 1), 9}}));
  EXPECT_EQ(median_found(Database{options}), 1);
  write_file(second.path() / "v1" / "db" / "x.jsonl", lines_of({{with_median(sample_record(), 2), 8}}));
  EXPECT_EQ(median_found(Database{options}), 2);
  write_file(first.path() / "x.jsonl", lines_of({{with_median(sample_record(), 3), 7}}));
  EXPECT_EQ(median_found(Database{options}), 3);
  write_file(first.path() / "x.json", "not a segment");
  Database database{options};
  EXPECT_EQ(median_found(database), 3);
  database.add(with_median(sample_record(), 4));
  EXPECT_EQ(median_found(database), 4);
  const auto all = database.all();
  ASSERT_EQ(all.size(), 4u);
  EXPECT_EQ(all[0].layer, user.path().string());
  EXPECT_EQ(all[3].layer, shipped.path().string());
  EXPECT_EQ(files_in(first.path()).size(), 2u);  // nothing was written there
}

TEST(Database, ARecordOfAnotherGpuIsNoAnswerButANeighbour) {
  TuningRecord other_arch = with_median(sample_record(), 1);
  other_arch.environment.arch = "sm_80";
  for (const TuningRecord& other :
       {other_arch, on_gpu(with_median(sample_record(), 2), "Fictional FX-2", 7),
        on_gpu(with_median(sample_record(), 3), "Fictional FX-3", sample_record().environment.sm_count),
        on_gpu(with_median(sample_record(), 4), "Fictional FX-1000", 98)}) {
    Database database{DatabaseOptions{}};
    database.add(other);
    SCOPED_TRACE(other.environment.gpu + " " + other.environment.arch);
    EXPECT_EQ(median_found(database), -1);
    const auto near = database.nearest(sample_record().problem, sample_query(), 3);
    ASSERT_EQ(near.size(), other.environment.arch == "sm_90a" ? 1u : 0u);
    GpuQuery any_gpu = sample_query();
    any_gpu.environment.gpu.clear();
    any_gpu.environment.sm_count = 0;
    EXPECT_EQ(median_found(database, any_gpu), near.empty() ? -1 : other.timing.median_us);
    if (near.empty()) continue;
    EXPECT_EQ(near[0].distance, 0);
    EXPECT_EQ(near[0].found.record, other);
    database.add(with_median(sample_record(), 5));
    database.add(other);
    EXPECT_EQ(median_found(database), 5) << "although the other one is later";
    EXPECT_EQ(database.nearest(sample_record().problem, sample_query(), 3)[0].found.record.timing.median_us, 5);
  }
}

TEST(Database, ARecordOfThisGpuBelowWinsOverOneOfAnotherGpuAbove) {
  const TemporaryDirectory shipped;
  write_file(shipped.path() / "gpu.jsonl", lines_of({{with_median(sample_record(), 1), 9}}));
  DatabaseOptions options;
  options.shipped = shipped.path();
  Database database{options};
  database.add(on_gpu(with_median(sample_record(), 2), "Fictional FX-2", 99));
  EXPECT_EQ(median_found(database), 1);
  EXPECT_EQ(database.nearest(sample_record().problem, sample_query(), 3)[0].found.record.timing.median_us, 1);
  database.add(with_median(sample_record(), 3));
  EXPECT_EQ(median_found(database), 3);
}

TEST(Database, TemplatesCountMoreThanLayersAndTheSoftwareCountsLess) {
  const TemporaryDirectory shipped;
  write_file(shipped.path() / "gpu.jsonl", lines_of({{with_median(sample_record(), 1), 9}}));
  DatabaseOptions options;
  options.shipped = shipped.path();
  TuningRecord older_driver = with_median(sample_record(), 2), older_templates = with_median(sample_record(), 3);
  older_driver.environment.driver = "1.0";
  older_driver.environment.toolchain = "nvrtc-12.0-0";
  older_templates.template_digest = std::string(64, 'b');
  {
    Database database{options};
    database.add(older_driver);
    EXPECT_EQ(median_found(database), 2) << "the user's own measurement";
  }
  {
    Database database{options};
    database.add(older_templates);
    EXPECT_EQ(median_found(database), 1) << "the time of a kernel that is no longer there";
    GpuQuery any_templates = sample_query();
    any_templates.template_digest = nullptr;
    EXPECT_EQ(median_found(database, any_templates), 3);
  }
}

TEST(Database, MarksWhatHasChangedAsStale) {
  Database database{DatabaseOptions{}};
  database.add(sample_record());
  const auto freshness_for = [&](auto change) {
    GpuQuery query = sample_query();
    change(query);
    return database.find(sample_record().problem, query)->freshness;
  };
  EXPECT_EQ(freshness_for([](GpuQuery&) {}), Freshness::current);
  EXPECT_EQ(freshness_for([](GpuQuery& q) { q.environment.driver = "590.1"; }), Freshness::stale);
  EXPECT_EQ(freshness_for([](GpuQuery& q) { q.environment.toolchain = "nvrtc-13.1-ff"; }), Freshness::stale);
  EXPECT_EQ(
      freshness_for([](GpuQuery& q) { q.template_digest = [](const KernelConfig&) { return std::string(64, 'b'); }; }),
      Freshness::stale);
  EXPECT_EQ(freshness_for([](GpuQuery& q) {  // without a driver and NVRTC there is nothing to compare
              q.environment.driver.clear();
              q.environment.toolchain.clear();
              q.template_digest = nullptr;
            }),
            Freshness::current);
}

TEST(Database, APickByBlocksIsStaleUnderAnotherPowerLimit) {
  TuningRecord record = sample_record();
  record.measure = Measure::sustained;
  record.power_limit_w = 700;
  GpuQuery query = sample_query();
  const auto freshness_at = [&](double watts) {
    query.power_limit_w = watts;
    return freshness(record, query);
  };
  EXPECT_EQ(freshness_at(700), Freshness::current);
  EXPECT_EQ(freshness_at(670), Freshness::current) << "within 5 %";
  EXPECT_EQ(freshness_at(730), Freshness::current) << "within 5 %";
  EXPECT_EQ(freshness_at(660), Freshness::stale);
  EXPECT_EQ(freshness_at(600), Freshness::stale);
  EXPECT_EQ(why_stale(record, query), "power limit 700 W, now 600 W");
  EXPECT_EQ(freshness_at(740), Freshness::stale);
  EXPECT_EQ(freshness_at(0), Freshness::current) << "the present limit is unknown";
  query.power_limit_w = 600;
  query.environment.driver = "590.1";
  EXPECT_EQ(why_stale(record, query), "driver, power limit 700 W, now 600 W");
  query = sample_query();
  query.power_limit_w = 600;
  query.environment.gpu = "Fictional FX-2";
  EXPECT_EQ(freshness(record, query), Freshness::current) << "the limit is that of another GPU";
  query = sample_query();
  query.power_limit_w = 600;
  record.power_limit_w = 0;
  EXPECT_EQ(freshness(record, query), Freshness::current) << "the record's limit is unknown";
  record.power_limit_w = 700;
  record.measure = Measure::rounds;
  EXPECT_EQ(freshness(record, query), Freshness::current) << "blocks did not decide";
  EXPECT_EQ(why_stale(record, query), "");
}

TEST(Database, UnderAPowerLimitItsOwnRecordIsFound) {
  TuningRecord at_700 = with_median(sample_record(), 5), at_600 = with_median(sample_record(), 6);
  at_700.measure = at_600.measure = Measure::sustained;
  at_700.power_limit_w = 700;
  at_600.power_limit_w = 600;
  const TemporaryDirectory directory;
  write_file(directory.segments() / "x.jsonl", lines_of({{at_700, 10}, {at_600, 20}}));
  const Database database{user_layer(directory)};
  GpuQuery query = sample_query();
  const auto found_at = [&](double watts) {
    query.power_limit_w = watts;
    return database.find(at_700.problem, query)->record.power_limit_w;
  };
  EXPECT_EQ(found_at(700), 700);
  EXPECT_EQ(found_at(600), 600);
  EXPECT_EQ(found_at(0), 600) << "the latest";
}

TEST(Database, CurrentBeforeStaleThenTheLatestEnvironmentsBest) {
  const TuningRecord record = sample_record();
  TuningRecord stale = with_median(record, 1), oldest = with_median(record, 2);
  stale.environment.driver = "1.0";
  oldest.environment.driver = "0.9";
  const TemporaryDirectory directory;
  const auto write = [&](const std::string& text) { write_file(directory.segments() / "x.jsonl", text); };
  write(lines_of({{with_median(record, 5), 10}, {stale, 20}}));
  EXPECT_EQ(median_found(Database{user_layer(directory)}), 5);
  write(lines_of({{oldest, 5}, {with_median(record, 5), 10}, {with_median(record, 4), 11}}));
  EXPECT_EQ(median_found(Database{user_layer(directory)}), 4);
  write(lines_of({{with_median(record, 4), 11}, {with_median(record, 5), 12}, {oldest, 5}}));
  EXPECT_EQ(median_found(Database{user_layer(directory)}), 4);
  // Less work does not make a better record: the times of different m in a class are not compared.
  TuningRecord smaller_m = with_median(record, 3);
  smaller_m.problem.m = 4000;
  write(lines_of({{smaller_m, 1}, {with_median(record, 5), 12}}));
  EXPECT_EQ(median_found(Database{user_layer(directory)}), 5);
}

TEST(Database, ATimeInTheFutureCountsAsNone) {
  const std::int64_t now = std::time(nullptr), day = 24 * 3600;
  TuningRecord ahead = with_median(sample_record(), 3);
  ahead.problem.m = 4000;  // so that their times are not compared
  const TemporaryDirectory directory;
  const auto write = [&](const std::string& text) { write_file(directory.segments() / "x.jsonl", text); };
  write(lines_of({{ahead, now + 2 * day}, {with_median(sample_record(), 5), now}}));
  EXPECT_EQ(median_found(Database{user_layer(directory)}), 5) << "a clock was ahead";
  write(lines_of({{ahead, now + day / 2}, {with_median(sample_record(), 5), now}}));
  EXPECT_EQ(median_found(Database{user_layer(directory)}), 3) << "clocks differ";
  write(lines_of({{ahead, now + 2 * day}}));
  EXPECT_EQ(median_found(Database{user_layer(directory)}), 3) << "better than nothing";
}

TEST(Database, AFinalRecordBeforeAProvisionalOneAndMeasuresAreNotCompared) {
  const TuningRecord record = sample_record();
  TuningRecord provisional = with_median(record, 3), sustained = with_median(record, 5);
  provisional.is_provisional = true;
  sustained.measure = Measure::sustained;
  const TemporaryDirectory directory;
  const auto write = [&](const std::string& text) { write_file(directory.segments() / "x.jsonl", text); };
  write(lines_of({{sustained, 10}, {provisional, 20}}));
  EXPECT_EQ(median_found(Database{user_layer(directory)}), 5) << "although the provisional one is faster and later";
  write(lines_of({{with_median(record, 4), 10}, {sustained, 20}}));
  EXPECT_EQ(median_found(Database{user_layer(directory)}), 5) << "a time in rounds is at another clock";
  write(lines_of({{provisional, 10}}));
  EXPECT_EQ(median_found(Database{user_layer(directory)}), 3) << "better than nothing";
}

TEST(Database, AProgrammaticLaunchThatWasPickedInChainsIsStaleAndItsTimeDoesNotCount) {
  TuningRecord ordinary = with_median(sample_record(), 5), chained = with_median(sample_record(), 4);
  chained.config = WgmmaConfig{.block_m = 64, .block_n = 64, .consumers = 1, .stages = 3};
  chained.launch.programmatic = true;
  TuningRecord behind = chained;
  behind.measure = Measure::behind;
  EXPECT_EQ(why_stale(chained, sample_query()), "measure of programmatic launches");
  EXPECT_EQ(why_stale(behind, sample_query()), "");
  EXPECT_EQ(why_stale(ordinary, sample_query()), "");
  const TemporaryDirectory directory;
  write_file(directory.segments() / "x.jsonl", lines_of({{chained, 10}, {ordinary, 20}}));
  EXPECT_EQ(median_found(Database{user_layer(directory)}), 5) << "although the other one looks faster";
}

TEST(Database, ARecordOfTheOtherObjectiveIsUsedOnlyWhereThereIsNone) {
  const TuningRecord speed = with_median(sample_record(), 5);
  TuningRecord energy = with_median(sample_record(), 6);
  energy.objective = Objective::energy;
  energy.measure = Measure::sustained;
  energy.joules = 3;
  TuningRecord quicker = energy, stale = energy;
  quicker.timing.median_us = 5.5;
  quicker.joules = 3.5;
  stale.environment.driver = "1.0";
  stale.timing.median_us = 7;
  const TemporaryDirectory directory, lower;
  const auto write = [&](const std::string& text) { write_file(directory.segments() / "x.jsonl", text); };
  const auto found_for = [&](Objective objective) {
    GpuQuery query = sample_query();
    query.objective = objective;
    DatabaseOptions options = user_layer(directory);
    options.read_only_layers = {lower.path()};
    return Database(std::move(options)).find(sample_record().problem, query)->record.timing.median_us;
  };
  write(lines_of({{speed, 10}, {energy, 20}, {quicker, 30}}));
  EXPECT_EQ(found_for(Objective::speed), 5) << "although the others are later";
  EXPECT_EQ(found_for(Objective::energy), 6) << "joules decide between records for energy";
  write(lines_of({{stale, 10}, {speed, 20}}));
  EXPECT_EQ(found_for(Objective::energy), 7) << "a stale one of the objective is better than one of the other";
  write(lines_of({{energy, 10}}));
  EXPECT_EQ(found_for(Objective::speed), 6) << "better than nothing";
  write_file(lower.segments() / "x.jsonl", lines_of({{speed, 10}}));
  EXPECT_EQ(found_for(Objective::speed), 5) << "tuning for energy hides no record of a lower layer";
}

TEST(Database, ABadLineIsDroppedAlone) {
  const TemporaryDirectory directory;
  const std::string good = to_line({sample_record(), 1});
  std::string damaged = good;
  damaged[damaged.find("123.25")] = '9';
  const std::string text = good + "\n\n" + damaged + "\n" + "garbage\n" + edited(good, "mma_m128", "mma_m129") + "\n" +
                           R"({"class":"4096 4096 512 nt f16 align=16","schema":7,"x":1})" + "\n" +
                           to_line({sample_record("8 8 8 nn f16"), 1}) + "\n";
  write_file(directory.segments() / "x.jsonl", text);
  Warnings warnings;
  const Database database{user_layer(directory, &warnings)};
  EXPECT_EQ(median_found(database), 123.25);
  EXPECT_EQ(database.all().size(), 2u);
  EXPECT_EQ(database.dropped(), 3u);
  ASSERT_EQ(warnings.messages().size(), 1u);  // only about the first one
  EXPECT_NE(warnings.messages()[0].find("x.jsonl:4: does not begin"), std::string::npos) << warnings.messages()[0];
  EXPECT_EQ(read_file(directory.segments() / "x.jsonl"), text);
}

TEST(Database, OnlyLinesAskedForAreParsed) {
  const TemporaryDirectory directory;
  const std::string bad = edited(to_line({sample_record("8 8 8 nn f16"), 1}), "mma_m128", "mma_m129");
  write_file(directory.segments() / "x.jsonl", lines_of({{sample_record(), 1}}) + bad + "\n");
  Warnings warnings;
  const Database database{user_layer(directory, &warnings)};
  EXPECT_EQ(median_found(database), 123.25);
  EXPECT_EQ(database.dropped(), 0u);
  EXPECT_FALSE(database.find(parse_workload("8 8 8 nn f16"), sample_query()));
  EXPECT_EQ(database.dropped(), 1u);
  ASSERT_EQ(warnings.messages().size(), 1u);
  EXPECT_NE(warnings.messages()[0].find("x.jsonl:2: config"), std::string::npos) << warnings.messages()[0];
}

TEST(Database, FindsWhileOthersAdd) {
  const TemporaryDirectory directory;
  std::string text;
  for (int n = 8; n < 800; n += 8) text += to_line({sample_record("64x" + std::to_string(n) + "x64 nn f16"), 1}) + "\n";
  write_file(directory.segments() / "x.jsonl", text);
  Database database{user_layer(directory)};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&database, t] {
      for (int i = 0; i < 100; ++i) {
        const std::string n = std::to_string(8 * (1 + (i * 7 + t) % 99));
        if (t == 0) database.add(sample_record("128x" + n + "x64 nn f16"));
        const Workload problem = parse_workload("64x" + n + "x64 nn f16");
        EXPECT_TRUE(database.find(problem, sample_query()));
        if (i % 10 == 0) {
          EXPECT_EQ(database.nearest(problem, sample_query(), 3).size(), 3u);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Database{user_layer(directory)}.all().size(), 99u + 100u);
}

TEST(Database, TenThousandRecordsOpenInMilliseconds) {
  const TemporaryDirectory directory;
  std::string text;
  for (int i = 0; i < 10000; ++i) {
    TuningRecord record = sample_record();
    record.problem.n = 8 * (1 + i % 2500);
    record.problem.k = 64 << (i / 2500);
    text += to_line({record, i}) + "\n";
  }
  write_file(directory.segments() / "x.jsonl", text);
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  constexpr double kLimitMs = 1000;
#else
  constexpr double kLimitMs = 100;  // the aim is 5 ms; a build without optimisation and a busy machine need more
#endif
  double best_ms = 1e9;
  for (int repeat = 0; repeat < 7 && best_ms >= kLimitMs; ++repeat) {
    const auto start = std::chrono::steady_clock::now();
    const Database database{user_layer(directory)};
    const std::chrono::duration<double, std::milli> elapsed = std::chrono::steady_clock::now() - start;
    best_ms = std::min(best_ms, elapsed.count());
    TuningRecord last = sample_record();
    last.problem.n = 8 * 2500;
    last.problem.k = 512;
    ASSERT_TRUE(database.find(last.problem, sample_query()));
  }
  RecordProperty("open_microseconds", static_cast<int>(best_ms * 1000));
  std::printf("10,000 records opened in %.2f ms\n", best_ms);
  EXPECT_LT(best_ms, kLimitMs);
}

}  // namespace
}  // namespace hotgemm
