#include "records/database.hpp"
#include "unit/database_fixture.hpp"

#include <gtest/gtest.h>

#include <string>

namespace hotgemm {
namespace {

std::string digest_of(const DatabaseOptions& options) {
  IdentityBuilder builder;
  Database(options).add_digest_fields(builder);
  return builder.build().hex();
}

std::string record_lines(double median_us, std::int64_t time, const char* problem = "64 64 64 nn f16 align=16") {
  return lines_of({{with_median(sample_record(problem), median_us), time}});
}

TEST(DatabaseDigest, FilesAndTheirOrderDoNotMatter) {
  const TemporaryDirectory one, other;
  write_file(one.segments() / "a.jsonl", record_lines(1, 1) + record_lines(2, 2, "8 8 8 nn f16 align=16"));
  write_file(other.segments() / "a.jsonl", record_lines(2, 2, "8 8 8 nn f16 align=16"));
  write_file(other.segments() / "b.jsonl", record_lines(1, 1) + "no record\n");
  EXPECT_EQ(digest_of(user_layer(one)), digest_of(user_layer(other)));
}

TEST(DatabaseDigest, EveryRecordMatters) {
  const TemporaryDirectory one, other, none;
  write_file(one.segments() / "a.jsonl", record_lines(1, 1));
  write_file(other.segments() / "a.jsonl", record_lines(1, 2));
  EXPECT_NE(digest_of(user_layer(one)), digest_of(user_layer(other)));
  EXPECT_NE(digest_of(user_layer(one)), digest_of(user_layer(none)));
}

TEST(DatabaseDigest, OnlyTheOrderOfTheLayersOfAClassMatters) {
  const TemporaryDirectory top, below, empty;
  write_file(top.segments() / "a.jsonl", record_lines(1, 1));
  write_file(below.segments() / "a.jsonl", record_lines(2, 2));
  const auto layers = [](const TemporaryDirectory& user, std::vector<std::filesystem::path> lower) {
    DatabaseOptions options = user_layer(user);
    options.read_only_layers = std::move(lower);
    return options;
  };
  const std::string digest = digest_of(layers(top, {below.path()}));
  EXPECT_NE(digest, digest_of(layers(below, {top.path()})));
  EXPECT_EQ(digest, digest_of(layers(empty, {top.path(), below.path()})));
}

TEST(DatabaseDigest, RecordsOfOneSecondHaveOneAnswer) {
  // They differ in the measured m, so that their times cannot be compared.
  const std::string a = record_lines(1, 5, "4095 64 64 nn f16 align=16");
  const std::string b = record_lines(2, 5, "4096 64 64 nn f16 align=16");
  const TemporaryDirectory one, other;
  write_file(one.segments() / "a.jsonl", a + b);
  write_file(other.segments() / "a.jsonl", b + a);
  const Workload problem = parse_workload("4096 64 64 nn f16 align=16");
  const Database first(user_layer(one)), second(user_layer(other));
  EXPECT_EQ(first.find(problem, sample_query())->record.timing.median_us,
            second.find(problem, sample_query())->record.timing.median_us);
}

}  // namespace
}  // namespace hotgemm
