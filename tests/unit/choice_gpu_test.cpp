// Plans depend on the GPU by its name.

#include "config/device_info.hpp"
#include "plan/choice.hpp"
#include "unit/database_fixture.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

constexpr const char* kArch = "sm_90a";

TEST(ChoiceOnGpus, AGpuWithAnotherMemoryHasPlansOfItsOwn) {
  const Database database{DatabaseOptions{}};
  const auto pick = [&](const char* gpu, const char* problem) {
    GpuQuery query;
    query.environment = {.gpu = gpu, .arch = kArch, .sm_count = 132};
    return choose(parse_workload(problem), kArch, database, query).front();
  };
  EXPECT_EQ(nominal_device(kArch, "NVIDIA H100 80GB HBM3").dram_gbps, 3350);
  EXPECT_EQ(nominal_device(kArch, "NVIDIA H300"), nominal_device(kArch));
  EXPECT_EQ(nominal_device("sm_80", "NVIDIA H100 80GB HBM3"), nominal_device("sm_80"));
  int different = 0;
  for (const char* problem :
       {"960 128 114560 nn bf16", "7205 85 7559 nn bf16", "64 8192 8192 nt bf16", "400 4096 1000 nt bf16"}) {
    EXPECT_EQ(pick("NVIDIA H200", problem), pick("", problem)) << problem;
    different += pick("NVIDIA H100 80GB HBM3", problem) == pick("NVIDIA H200", problem) ? 0 : 1;
  }
  EXPECT_GT(different, 0);
}

TEST(ChoiceOnGpus, KnownEnvironmentsAreEachGpuOfTheArchOnce) {
  Database database{DatabaseOptions{}};
  TuningRecord record = sample_record("4096 4096 512 nt f16");
  database.add(record);
  record.problem = parse_workload("4096 4096 1024 nt f16");
  database.add(record);  // the same GPU again
  record.environment.sm_count = 66;
  database.add(record);
  record.environment.arch = "sm_80";
  record.environment.sm_count = 108;
  database.add(record);
  record.environment.sm_count = 66;
  const std::string gpu = record.environment.gpu;
  const auto found = [&] {
    std::vector<std::pair<std::string, int>> gpus;
    for (const Environment& environment : known_environments(kArch, database)) {
      EXPECT_EQ(environment.arch, kArch);
      gpus.emplace_back(environment.gpu, environment.sm_count);
    }
    return gpus;
  };
  using Gpu = std::pair<std::string, int>;
  const Gpu unknown{"a GPU without records", nominal_device(kArch).sm_count};
  const Gpu named{"NVIDIA H100 80GB HBM3", 132};  // plans for it differ, whether or not a record names it
  EXPECT_THAT(found(), testing::UnorderedElementsAre(unknown, named, Gpu(gpu, 99), Gpu(gpu, 66)));
  EXPECT_EQ(found().back(), unknown);
  record.environment.arch = kArch;
  record.environment.driver = "590.1";
  database.add(record);
  EXPECT_EQ(found().size(), 4u * 5) << "unknown software, two drivers without a toolchain, and with their toolchains";
}

}  // namespace
}  // namespace hotgemm
