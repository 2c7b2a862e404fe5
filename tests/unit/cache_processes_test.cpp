// The cache and several processes: writers of the same keys, eviction, locks, killed writers.

#include "cache/binary_cache.hpp"
#include "cache/cache_layer.hpp"
#include "unit/cache_fixture.hpp"

#include <gtest/gtest.h>

#include <signal.h>

#include <chrono>
#include <future>
#include <random>
#include <thread>

namespace hotgemm {
namespace {

using namespace std::chrono_literals;

class CacheProcessesTest : public CacheTest {};

TEST_F(CacheProcessesTest, ProcessesThatWriteTheSameKeysServeOnlyGoodEntries) {
  constexpr int kProcesses = 4;
  constexpr int kKeys = 25;
  std::vector<pid_t> children;
  for (int p = 0; p < kProcesses; ++p) {
    children.push_back(fork_child([&] {
      BinaryCache writer(options());
      for (int round = 0; round < 4; ++round) {
        for (int i = 0; i < kKeys; ++i) {
          writer.store(identity_of(i), cubin_of(i, kToolchain, kKernelBytes));
          const auto seen = find_afresh(identity_of(i));
          if (!seen || *seen != cubin_of(i, kToolchain, kKernelBytes)) return 1;
        }
      }
      return warnings_.take().empty() ? 0 : 2;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(exit_code(child), 0);
  EXPECT_EQ(BinaryCache(options()).verify().good, static_cast<std::size_t>(kKeys));
  EXPECT_EQ(files_below(directory_, ".tmp"), 0U);
  EXPECT_EQ(files_below(directory_, ".bad"), 0U);
}

TEST_F(CacheProcessesTest, EvictionByOneProcessIsHarmlessToAnother) {
  const pid_t evictor = fork_child([&] {
    BinaryCache cache(options());
    for (int i = 0; i < 300; ++i) cache.trim(0);
    return warnings_.take().empty() ? 0 : 2;
  });
  BinaryCache writer(options());
  for (int i = 0; i < 300; ++i) {
    writer.store(identity_of(i % 10), cubin_of(i % 10));
    const auto seen = find_afresh(identity_of(i % 10));
    EXPECT_TRUE(!seen || *seen == cubin_of(i % 10));
  }
  EXPECT_EQ(exit_code(evictor), 0);
  EXPECT_TRUE(warnings_.take().empty());
  EXPECT_EQ(files_below(directory_, ".bad"), 0U);
}

TEST_F(CacheProcessesTest, AnEntryThatIsReplacedWhileItIsReadIsServed) {
  store_one(1);
  const pid_t writer = fork_child([&] {
    BinaryCache cache(options());
    for (;;) cache.store(identity_of(1), cubin_of(1));
    return 0;
  });
  // Use the layer itself, because the cache looks twice.
  CacheWarnings layer_warnings;
  const CacheLayer layer(directory_, DirectoryRules{.writable = true}, true, layer_warnings);
  int misses = 0;
  for (int i = 0; i < 5000; ++i) {
    const auto found = layer.find(identity_of(1), toolchain_tag(kToolchain));
    if (!found || found->cubin != cubin_of(1)) ++misses;
  }
  ::kill(writer, SIGKILL);
  exit_code(writer);
  EXPECT_EQ(misses, 0);
  EXPECT_TRUE(warnings_.take().empty());
}

TEST_F(CacheProcessesTest, TheLockMakesRanksCompileEachKernelOnce) {
  constexpr int kRanks = 8;
  constexpr int kKeys = 5;
  const auto log_path = base_ / "compiles";
  std::vector<pid_t> ranks;
  for (int r = 0; r < kRanks; ++r) {
    ranks.push_back(fork_child([&] {
      BinaryCache cache(options());
      for (int i = 0; i < kKeys; ++i) {
        if (cache.find(identity_of(i))) continue;
        const ShardLock lock = cache.lock(identity_of(i), 30s);
        if (cache.find(identity_of(i))) continue;
        std::this_thread::sleep_for(5ms);
        const int fd = ::open(log_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (fd < 0 || ::write(fd, "x", 1) != 1) return 1;
        ::close(fd);
        cache.store(identity_of(i), cubin_of(i));
      }
      return 0;
    }));
  }
  for (const pid_t rank : ranks) EXPECT_EQ(exit_code(rank), 0);
  EXPECT_EQ(read_bytes(log_path).size(), static_cast<std::size_t>(kKeys));
}

TEST_F(CacheProcessesTest, KilledWritersLeaveNoBadEntry) {
  constexpr int kKills = 300;
  constexpr int kKeys = 20;
  std::minstd_rand random(1);
  std::uniform_int_distribution<int> delay_us(500, 4000);
  std::size_t served = 0;
  for (int kill = 0; kill < kKills; ++kill) {
    const pid_t child = fork_child([&] {
      BinaryCache cache(options());
      for (int i = kill;; ++i) cache.store(identity_of(i % kKeys), cubin_of(i % kKeys, kToolchain, kKernelBytes));
      return 0;
    });
    std::this_thread::sleep_for(std::chrono::microseconds(delay_us(random)));
    ::kill(child, SIGKILL);
    ASSERT_EQ(exit_code(child), -1);
    const auto seen = find_afresh(identity_of(kill % kKeys));
    if (!seen) continue;
    ASSERT_EQ(*seen, cubin_of(kill % kKeys, kToolchain, kKernelBytes));
    ++served;
  }
  EXPECT_GT(served, 0U) << "no child lived long enough to publish: the test shows nothing";
  EXPECT_GT(files_below(directory_, ".tmp"), 0U) << "no child was killed while writing: the test shows nothing";
  BinaryCache cache(options());
  EXPECT_TRUE(cache.verify().bad.empty());
  EXPECT_GT(cache.stat().temporaries, 0U) << "young temporaries may be in use and stay";
  for (const auto& file : std::filesystem::directory_iterator(directory_ / "v1" / "tmp")) {
    set_mtime(file.path(), -2h);
  }
  EXPECT_EQ(BinaryCache(options()).stat().temporaries, 0U);
  EXPECT_TRUE(warnings_.take().empty());
}

TEST_F(CacheProcessesTest, NoStoreWaitsForAScanOfAnotherThread) {
  constexpr int kKeys = 30;
  auto small = options();
  small.max_bytes = 20 * 4096;
  std::filesystem::create_directories(directory_ / "v1" / "cubin");
  std::filesystem::create_symlink(base_, directory_ / "v1" / "cubin" / "00");
  for (int i = 0; i < kKeys; ++i) ASSERT_FALSE(identity_of(i).hex().starts_with("00"));
  // The scan warns of the link, and goes on when the sink returns.
  std::promise<void> is_scanning, may_end;
  set_logger_sink([&](LogLevel, std::string_view) {
    is_scanning.set_value();
    may_end.get_future().wait_for(10s);
  });
  BinaryCache cache(small);
  std::thread other([&] { cache.store(identity_of(0), cubin_of(0)); });
  is_scanning.get_future().wait();
  const pid_t child = fork_child([&] {
    ::alarm(5);
    cache.store(identity_of(1), cubin_of(1));
    return 0;
  });
  EXPECT_EQ(exit_code(child), 0);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < kKeys; ++i) cache.store(identity_of(i), cubin_of(i, kToolchain, kKernelBytes));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 3s);
  may_end.set_value();
  other.join();
  set_logger_sink({});
  EXPECT_LE(cache.stat().bytes, small.max_bytes) << "what was stored meanwhile is counted";
}

}  // namespace
}  // namespace hotgemm
