#include "base/rank.hpp"

#include <hotgemm/error.hpp>

#include <gtest/gtest.h>

#include <map>
#include <string>

namespace hotgemm {
namespace {

using Environ = std::map<std::string, std::string>;

std::optional<Rank> rank_in(const Environ& environ) {
  return rank_from([&](const char* name) -> const char* {
    const auto found = environ.find(name);
    return found == environ.end() ? nullptr : found->second.c_str();
  });
}

std::string rank_error(const Environ& environ) {
  try {
    rank_in(environ);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::invalid_argument);
    return error.what();
  }
  return "";
}

TEST(RankTest, AnEmptyVariableIsNone) {
  EXPECT_FALSE(rank_in({{"RANK", ""}, {"WORLD_SIZE", "4"}}));
  EXPECT_EQ(rank_in({{"RANK", ""}, {"PMI_RANK", "2"}, {"PMI_SIZE", "3"}, {"MPI_LOCALRANKID", ""}})->index, 2);
}

TEST(RankTest, EveryLauncherIsKnown) {
  const struct {
    Environ environ;
    const char* launcher;
    int local;
  } cases[] = {
      {{{"RANK", "3"}, {"WORLD_SIZE", "8"}, {"LOCAL_RANK", "1"}}, "torchrun", 1},
      {{{"OMPI_COMM_WORLD_RANK", "3"}, {"OMPI_COMM_WORLD_SIZE", "8"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "2"}},
       "Open MPI",
       2},
      {{{"MV2_COMM_WORLD_RANK", "3"}, {"MV2_COMM_WORLD_SIZE", "8"}}, "MVAPICH", -1},
      {{{"PMI_RANK", "3"}, {"PMI_SIZE", "8"}, {"MPI_LOCALRANKID", "0"}}, "MPI", 0},
      {{{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "3"}}, "Slurm", 3},
      {{{"JOB_COMPLETION_INDEX", "3"}, {"HOTGEMM_JOB_SIZE", "8"}}, "Kubernetes", -1},
  };
  for (const auto& c : cases) {
    const std::optional<Rank> rank = rank_in(c.environ);
    ASSERT_TRUE(rank) << c.launcher;
    EXPECT_EQ(rank->launcher, c.launcher);
    EXPECT_EQ(rank->index, 3) << c.launcher;
    EXPECT_EQ(rank->count, 8) << c.launcher;
    EXPECT_EQ(rank->local, c.local) << c.launcher;
  }
  EXPECT_FALSE(rank_in({{"PATH", "/bin"}}));
}

TEST(RankTest, TheInnermostLauncherCounts) {
  Environ environ{{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "2"}};
  environ.insert({{"OMPI_COMM_WORLD_RANK", "5"}, {"OMPI_COMM_WORLD_SIZE", "6"}});
  EXPECT_EQ(rank_in(environ)->index, 5);
  environ["RANK"] = "11";
  EXPECT_EQ(rank_in(environ)->launcher, "Open MPI");  // RANK alone is anybody's
  environ["WORLD_SIZE"] = "12";
  EXPECT_EQ(rank_in(environ)->index, 11);
}

TEST(RankTest, AStepOfSlurmMayHaveFewerTasksThanItsJob) {
  EXPECT_EQ(rank_in({{"SLURM_PROCID", "1"}, {"SLURM_NTASKS", "8"}, {"SLURM_STEP_NUM_TASKS", "2"}})->count, 2);
}

TEST(RankTest, WhatIsNoRankIsNamed) {
  EXPECT_NE(rank_error({{"JOB_COMPLETION_INDEX", "0"}}).find("HOTGEMM_JOB_SIZE"), std::string::npos);
  EXPECT_NE(rank_error({{"PMI_RANK", "x"}, {"PMI_SIZE", "2"}}).find("PMI_RANK is 'x'"), std::string::npos);
  EXPECT_NE(rank_error({{"PMI_RANK", "2"}, {"PMI_SIZE", "2"}}).find("counted from 0"), std::string::npos);
  EXPECT_NE(rank_error({{"PMI_RANK", "0"}, {"PMI_SIZE", "-1"}}).find("PMI_SIZE"), std::string::npos);
}

}  // namespace
}  // namespace hotgemm
