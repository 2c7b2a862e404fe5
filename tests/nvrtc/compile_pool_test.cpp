#include "nvrtc/nvrtc_fixture.hpp"

#include "worker/compile_pool.hpp"

#include "config/render.hpp"
#include "config/traits.hpp"
#include "gpu/kernel_builder.hpp"
#include "gpu/nvrtc.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>

#include <chrono>
#include <optional>
#include <thread>

namespace hotgemm {
namespace {

/// A pool whose workers are the hotgemm command.
class CompilePoolWithNvrtc : public NvrtcTest {
 protected:
  void SetUp() override {
    NvrtcTest::SetUp();
    if (IsSkipped()) return;
    pool_.emplace(CompilePoolOptions{.program = HOTGEMM_COMMAND, .arguments = {"compile-worker"}, .workers = 3},
                  bundle_);
  }

  /// A kernel that compiles fast and differs for each `block_n`.
  KernelSource source(int block_n) const {
    const Workload problem{Problem{.m = 256, .n = 256, .k = 256, .types = kF32}};
    const SimtConfig config{.block_m = 32, .block_n = block_n, .block_k = 8, .thread_m = 2, .thread_n = 2};
    return render(config, traits_of(problem), "sm_90a", bundle_);
  }

  TemplateBundle bundle_ = TemplateBundle::embedded();
  std::optional<CompilePool> pool_;
};

TEST_F(CompilePoolWithNvrtc, GivesWhatThisProcessWouldGive) {
  const KernelSource kernel = source(32);
  const Cubin here = Nvrtc::get().compile(kernel, bundle_);
  Cubin there = pool_->compile(kernel);
  EXPECT_GT(there.compile_ms, 0);
  there.compile_ms = here.compile_ms;
  EXPECT_EQ(there, here);
}

TEST_F(CompilePoolWithNvrtc, ABuilderUsesItAndKeepsTheCache) {
  BinaryCacheOptions options;
  options.mode = CacheMode::off;  // in memory only
  BinaryCache cache(options);
  KernelBuilder builder(cache, bundle_);
  int compiled = 0;
  std::mutex mutex;
  builder.compile_with([&](const KernelSource& kernel) {
    {
      const std::lock_guard lock(mutex);
      ++compiled;
    }
    return pool_->compile(kernel);
  });
  std::vector<KernelSource> sources;
  for (const int block_n : {32, 64, 96, 32, 64, 96}) sources.push_back(source(block_n));
  KernelSource broken = source(32);
  broken.text += "not C++";
  broken.identity.text += "broken";
  broken.identity.digest[0] ^= 1;
  sources.push_back(broken);
  const std::vector<BuildResult> results = builder.build_all(sources, 6);
  for (std::size_t i = 0; i + 1 < results.size(); ++i) ASSERT_TRUE(results[i].cubin) << results[i].failure;
  EXPECT_FALSE(results.back().cubin);
  EXPECT_THAT(results.back().failure, testing::HasSubstr("error"));
  EXPECT_EQ(compiled, 4);
  EXPECT_LE(pool_->idle_pids().size(), 3u);
}

TEST_F(CompilePoolWithNvrtc, ACompileErrorLeavesTheWorkerAlive) {
  KernelSource broken = source(32);
  broken.text += "not C++";
  EXPECT_THROW(pool_->compile(broken), Error);
  const std::vector<int> pids = pool_->idle_pids();
  EXPECT_EQ(pids.size(), 1u);
  EXPECT_FALSE(pool_->compile(source(32)).image.empty());
  EXPECT_EQ(pool_->idle_pids(), pids);
}

TEST_F(CompilePoolWithNvrtc, AWorkerThatDiedWhileIdleCostsNothing) {
  pool_->compile(source(32));
  const std::vector<int> pids = pool_->idle_pids();
  ASSERT_EQ(pids.size(), 1u);
  ASSERT_EQ(::kill(pids.front(), SIGKILL), 0);
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  EXPECT_FALSE(pool_->compile(source(64)).image.empty());
  EXPECT_NE(pool_->idle_pids(), pids);
}

TEST_F(CompilePoolWithNvrtc, WorkersEndWithThePool) {
  pool_->compile(source(32));
  const std::vector<int> pids = pool_->idle_pids();
  ASSERT_EQ(pids.size(), 1u);
  pool_.reset();
  EXPECT_NE(::kill(pids.front(), 0), 0);
}

TEST_F(CompilePoolWithNvrtc, WorkersCompileThisProcessesTemplates) {
  std::vector<TemplateFile> files = bundle_.files();
  for (TemplateFile& file : files) {
    if (file.path == "simt.cuh") file.text += "\n#error edited\n";
  }
  CompilePool pool({.program = HOTGEMM_COMMAND, .arguments = {"compile-worker"}},
                   TemplateBundle::from_files("elsewhere", std::move(files)));
  try {
    pool.compile(source(32));
    FAIL() << "it was compiled from other files";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::AllOf(testing::HasSubstr("edited"), testing::HasSubstr("elsewhere")));
  }
}

}  // namespace
}  // namespace hotgemm
