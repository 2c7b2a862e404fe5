#include "tune/tuning_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <limits>
#include <thread>

namespace hotgemm {
namespace {

constexpr int kManyTrials = std::numeric_limits<int>::max();

TuningJob job(std::int64_t m, int alive = 3) {
  TuningJob result;
  result.problems = {Workload({.m = m, .n = 8, .k = 8})};
  result.candidates.resize(static_cast<std::size_t>(alive) + 1);
  for (std::size_t i = 0; i < result.candidates.size(); ++i) result.candidates[i].predicted_us = static_cast<double>(i);
  result.candidates[1].reason = "spills: 4 bytes";
  return result;
}

bool never() { return false; }

/// True if `future` has no result for a while.
template <class T>
bool is_waiting(const std::future<T>& future) {
  return future.wait_for(std::chrono::milliseconds(150)) == std::future_status::timeout;
}

TEST(TuningQueueTest, JobsComeInTheirOrder) {
  TuningQueue queue(kManyTrials, never);
  queue.add_gpu();
  queue.add_gpu();
  queue.push(job(1));
  queue.push(job(2));
  EXPECT_EQ(queue.take(0)->problem().m, 1);
  EXPECT_EQ(queue.take(1)->problem().m, 2);
}

TEST(TuningQueueTest, OneJobPerGpuWaits) {
  TuningQueue queue(kManyTrials, never);
  EXPECT_FALSE(queue.wait_for_room());
  queue.add_gpu();
  EXPECT_TRUE(queue.wait_for_room());
  queue.push(job(1));
  std::future<bool> room = std::async(std::launch::async, [&] { return queue.wait_for_room(); });
  EXPECT_TRUE(is_waiting(room));
  queue.take(0);
  EXPECT_TRUE(room.get());
}

TEST(TuningQueueTest, WhatCameBackTakesNoRoom) {
  TuningQueue queue(kManyTrials, never);
  queue.add_gpu();
  queue.push(job(1));
  std::optional<TuningJob> taken = queue.take(0);
  taken->failed_on.insert(0);
  queue.put_back(std::move(*taken));
  EXPECT_TRUE(queue.wait_for_room());
}

TEST(TuningQueueTest, EndsWhenAllIsDone) {
  TuningQueue queue(kManyTrials, never);
  queue.add_gpu();
  queue.add_gpu();
  queue.push(job(1));
  queue.close();
  const std::optional<TuningJob> taken = queue.take(0);
  std::future<bool> other = std::async(std::launch::async, [&] { return queue.take(1).has_value(); });
  EXPECT_TRUE(is_waiting(other));  // the job may be put back
  queue.finish(*taken, 3);
  EXPECT_FALSE(other.get());
  EXPECT_FALSE(queue.take(0).has_value());
}

TEST(TuningQueueTest, WhatComesBackGoesToAnotherGpu) {
  TuningQueue queue(kManyTrials, never);
  queue.add_gpu();
  queue.add_gpu();
  queue.push(job(1));
  queue.push(job(2));
  queue.close();
  std::optional<TuningJob> first = queue.take(0);
  first->failed_on.insert(0);
  queue.put_back(std::move(*first));
  EXPECT_EQ(queue.take(0)->problem().m, 2);
  EXPECT_EQ(queue.take(1)->problem().m, 1);
}

TEST(TuningQueueTest, TheLastGpuTriesAgain) {
  TuningQueue queue(kManyTrials, never);
  queue.add_gpu();
  queue.add_gpu();
  queue.push(job(1));
  std::optional<TuningJob> taken = queue.take(0);
  taken->failed_on.insert(0);
  queue.put_back(std::move(*taken));
  queue.remove_gpu();
  EXPECT_EQ(queue.take(0)->problem().m, 1);
}

TEST(TuningQueueTest, TrialsAreShared) {
  TuningQueue queue(5, never);
  queue.add_gpu();
  queue.add_gpu();
  queue.push(job(1));
  queue.push(job(2));
  const std::optional<TuningJob> first = queue.take(0);
  EXPECT_EQ(first->trials, 3);
  EXPECT_EQ(first->candidates.size(), 4u);
  const std::optional<TuningJob> second = queue.take(1);
  EXPECT_EQ(second->trials, 2);
  ASSERT_EQ(second->candidates.size(), 3u);  // two of them, and the one that was rejected before
  EXPECT_EQ(second->candidates[2].predicted_us, 2);
  queue.finish(*first, 3);
  std::future<bool> room = std::async(std::launch::async, [&] { return queue.wait_for_room(); });
  EXPECT_TRUE(is_waiting(room));
  queue.finish(*second, 1);  // one of the two was not timed
  EXPECT_TRUE(room.get());
  EXPECT_EQ(queue.trials_left(), 1);
}

TEST(TuningQueueTest, EndsWhenTrialsAreSpent) {
  TuningQueue queue(3, never);
  queue.add_gpu();
  queue.push(job(1));
  queue.push(job(2));
  queue.finish(*queue.take(0), 3);
  EXPECT_FALSE(queue.take(0).has_value());
  EXPECT_FALSE(queue.wait_for_room());
}

TEST(TuningQueueTest, EndsWhenTheRunIsOver) {
  std::atomic<bool> is_over{false};
  TuningQueue queue(kManyTrials, [&] { return is_over.load(); });
  queue.add_gpu();
  std::future<bool> waiting = std::async(std::launch::async, [&] { return queue.take(0).has_value(); });
  EXPECT_TRUE(is_waiting(waiting));
  is_over = true;  // without a notification, because a signal handler cannot notify
  EXPECT_FALSE(waiting.get());
  queue.push(job(1));
  EXPECT_FALSE(queue.take(0).has_value());
  EXPECT_FALSE(queue.wait_for_room());
}

TEST(TuningQueueTest, DropsWhatWaits) {
  TuningQueue queue(kManyTrials, never);
  queue.add_gpu();
  queue.push(job(1));
  queue.close(true);
  EXPECT_FALSE(queue.take(0).has_value());
}

TEST(JobsOfTest, AClassIsOneJob) {
  Workload reads_c(Problem{.m = 100, .n = 8, .k = 8});
  reads_c.hints.beta_is_zero = false;
  const std::vector<Workload> problems = {Workload({.m = 100, .n = 8, .k = 8}), Workload({.m = 8, .n = 8, .k = 8}),
                                          Workload({.m = 101, .n = 8, .k = 8}), reads_c,
                                          Workload({.m = -1, .n = 8, .k = 8}),  Workload({.m = 0, .n = 8, .k = 8})};
  const std::vector<TuningJob> jobs = jobs_of(problems);
  ASSERT_EQ(jobs.size(), 5u);
  EXPECT_EQ(jobs[0].problems, (std::vector{problems[0], problems[2]}));
  EXPECT_EQ(jobs[1].problem(), problems[1]);
}

}  // namespace
}  // namespace hotgemm
