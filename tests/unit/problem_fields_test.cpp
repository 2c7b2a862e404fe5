#include "records/problem_fields.hpp"

#include "config/max_size.hpp"
#include "config/problem_text.hpp"
#include "records/sealed_line.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <string>

namespace hotgemm {
namespace {

/// The fields of `problem` as an object, read back.
Workload read_back(const Workload& problem) {
  const std::string text =
      "{\"class\":" + json_string(to_string(class_of(problem))) + measured_sizes_text(problem) + "}";
  return problem_fields(parse_object(text));
}

TEST(ProblemFields, BatchesAndGroupsOfEverySizeAreReadBack) {
  for (const std::int64_t m : {0, 1, 3, 4100}) {
    for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, std::int64_t{2}, std::int64_t{3},
                                     std::int64_t{4}, std::int64_t{5}, std::int64_t{1000}, kMaxSize}) {
      Workload problem = parse_workload("1 512 256 nt f16");
      problem.m = m;
      problem.batch = count;
      EXPECT_EQ(read_back(problem), problem) << to_string(problem);
      problem.group_kind = GroupKind::rows;
      problem.groups = 3;
      EXPECT_EQ(read_back(problem), problem) << to_string(problem);
      problem.batch = 1;
      problem.groups = count;
      EXPECT_EQ(read_back(problem), problem) << to_string(problem);
    }
  }
}

TEST(ProblemFields, OnlyMeasuredSizesThatTheClassDoesNotTellAreWritten) {
  EXPECT_EQ(measured_sizes_text(parse_workload("4100 512 256 nt f16")), ",\"m\":4100");
  EXPECT_EQ(measured_sizes_text(parse_workload("64 512 256 nt f16 batch=4 groups=8")), ",\"m\":64");
  EXPECT_EQ(measured_sizes_text(parse_workload("64 512 256 nt f16 batch=3 groups=5")),
            ",\"m\":64,\"batch\":3,\"groups\":5");
}

TEST(ProblemFields, SizesOfAnotherClassAreRejected) {
  const auto reason = [](const std::string& key, const std::string& sizes) -> std::string {
    try {
      problem_fields(parse_object(R"({"class":"64 512 256 nt f16)" + key + R"( align=16",)" + sizes + "}"));
    } catch (const Reject& reject) {
      return reject.reason;
    }
    return {};
  };
  EXPECT_EQ(reason(" batch=4", R"("m":64,"batch":3)"), "");
  EXPECT_EQ(reason(" batch=4", R"("m":64,"batch":2)"), "batch = 2 is not in the class of 4");
  EXPECT_EQ(reason(" batch=3", R"("m":64)"), "batch = 3 is not in the class of 3");
  EXPECT_EQ(reason("", R"("m":64,"groups":1)"), "groups = 1 is not in the class of 0");
  EXPECT_EQ(reason("", R"("m":65)"), "m = 65 is not in the class of 64");
  EXPECT_EQ(reason("", R"("batch":1)"), "no field \"m\"");
}

TEST(ProblemFields, AnEpilogueIsNoPartOfTheClass) {
  const Workload fused = parse_workload("64 64 64 nt bf16 epilogue=bias+gelu");
  EXPECT_EQ(class_of(fused), class_of(parse_workload("64 64 64 nt bf16")));
}

TEST(ProblemFields, ScalesOfBlocksAreAPartOfTheClass) {
  const std::string scaled = "64 512 512 nt e4m3 epilogue=scale_a:block_1x128+scale_b:block_128x128";
  EXPECT_EQ(class_of(parse_workload(scaled + "+bias+gelu")), class_of(parse_workload(scaled)));
  EXPECT_NE(class_of(parse_workload(scaled)), class_of(parse_workload("64 512 512 nt e4m3")));
  const Workload with_vectors = parse_workload("64 512 512 nt e4m3 epilogue=scale_a:vector+scale_b:vector");
  EXPECT_EQ(class_of(with_vectors), class_of(parse_workload("64 512 512 nt e4m3")));
  EXPECT_EQ(class_of(read_back(parse_workload(scaled))), class_of(parse_workload(scaled)));
}

TEST(ProblemFields, TheLongestClassFits) {
  const std::string sizes = std::to_string(kMaxSize);
  const Workload longest = parse_workload(
      sizes + " " + sizes + " " + sizes + " nn bf16*bf16>bf16 c=bf16 acc=tf32,fast order=batch_invariant sms=" + sizes +
      " batch=" + sizes + ",pointers groups=" + sizes + ",masked align=16,8,2 beta=1 workspace=small");
  EXPECT_LE(to_string(longest).size(), kMaxProblemTextBytes);
  EXPECT_EQ(read_back(longest), longest);
}

}  // namespace
}  // namespace hotgemm
