// Forgetting plans and records.

#include "standin/control_fixture.hpp"

namespace hotgemm::standin {
namespace {

using ForgetTest = ControlTest;

TEST_F(ForgetTest, TheNextCallPlansTheClassAnew) {
  const GemmCase c = small_case();
  const Choice other = other_choice(c);
  const Plan first = context().plan(c.described());
  impl_of(context()).engine().database.add(record_of(context(), c, other));
  EXPECT_EQ(context().plan(c.described()).config(), first.config()) << "a plan stays as it is";
  const ForgetReport report = context().forget(c.described());
  EXPECT_EQ(report.plans, 1u);
  EXPECT_EQ(report.records, 0u);
  EXPECT_EQ(context().stats().live_plans, 0u);
  EXPECT_EQ(context().forget(c.described()).plans, 0u);
  EXPECT_EQ(context().plan(c.described()).config(), to_string(other.config));
  expect_right(c, stream(), [&](const Operands& o) { first.launch(stream(), o); });  // it stays usable
  expect_right(context(), c, stream());
}

TEST_F(ForgetTest, DeterministicSumsToo) {
  GemmCase c = small_case();
  c.problem.order = SumOrder::deterministic;
  const Choice other = other_choice(c);
  context().plan(c.described());
  impl_of(context()).engine().database.add(record_of(context(), c, other));
  context().forget(c.described());
  EXPECT_EQ(context().plan(c.described()).config(), to_string(other.config));
}

TEST_F(ForgetTest, RecordsGoFromMemoryAndDisk) {
  const GemmCase c = small_case(), kept = small_case(1024, 1024, 1024);  // no neighbours
  const std::string estimated = context(Policy::estimate).plan(c.described()).config();
  for (const GemmCase& one : {c, kept}) record_elsewhere(one, other_choice(one));
  forget_context();
  impl_of(context(Policy::estimate)).engine().database.add(record_of(context(), c, other_choice(c)));  // of this object
  EXPECT_NE(context().plan(c.described()).config(), estimated);
  const ForgetReport report = context().forget(c.described(), Forget::plan_and_records);
  EXPECT_EQ(report.plans, 1u);
  EXPECT_EQ(report.records, 2u);
  EXPECT_EQ(report.segments_in_use, 0u);
  EXPECT_EQ(context().plan(c.described()).config(), estimated);
  context().reload();
  EXPECT_EQ(context().plan(c.described()).config(), estimated);
  impl_of(context()).engine().database.add(record_of(context(), small_case(8, 1024, 2048), other_choice(c)));
  forget_context();
  context(Policy::estimate);
  EXPECT_EQ(context().plan(c.described()).config(), estimated) << "a later process finds the record";
  EXPECT_EQ(records().size(), 2u) << "the record of another class is gone, or the one that was added afterwards";
}

TEST_F(ForgetTest, FilesInUseAreLeftAlone) {
  const GemmCase c = small_case();
  Context writer(options(Policy::estimate));
  impl_of(writer).engine().database.add(record_of(writer, c, other_choice(c)));
  const Choice recorded = other_choice(c);
  context_.emplace(options(Policy::estimate));
  EXPECT_EQ(context().plan(c.described()).config(), to_string(recorded.config));
  const ForgetReport report = context().forget(c.described(), Forget::plan_and_records);
  EXPECT_EQ(report.records, 1u);
  EXPECT_EQ(report.segments_in_use, 1u);
  EXPECT_NE(context().plan(c.described()).config(), to_string(recorded.config));
  EXPECT_EQ(context().reload(), 1u) << "the other process still has it";
  EXPECT_EQ(context().plan(c.described()).config(), to_string(recorded.config));
}

TEST_F(ForgetTest, WhatIsNoProblemIsRefused) {
  Workload bad = small_case().described();
  bad.m = -1;
  expect_thrown(ErrorCode::invalid_argument, {"m is negative"}, [&] { context(Policy::estimate).forget(bad); });
}

}  // namespace
}  // namespace hotgemm::standin
