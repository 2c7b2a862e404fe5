#include "cache/shard_lock.hpp"

#include "unit/cache_fixture.hpp"

#include <gtest/gtest.h>

#include <signal.h>

#include <atomic>
#include <thread>

namespace hotgemm {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class ShardLockTest : public CacheTest {
 protected:
  std::filesystem::path locks_path() const { return base_ / "locks"; }

  // Starts a child that takes shard 7, reports it, and then keeps it.
  pid_t start_holder() const {
    int pipe[2];
    if (::pipe(pipe) != 0) throw std::runtime_error("pipe failed");
    const pid_t child = fork_child([&] {
      const ShardLocks locks({locks_path()});
      const ShardLock lock = locks.acquire(7, 10s);
      const char answer = lock.held_on_node() ? 'y' : 'n';
      if (::write(pipe[1], &answer, 1) != 1) return 1;
      for (;;) ::pause();
    });
    char answer = 0;
    EXPECT_EQ(::read(pipe[0], &answer, 1), 1);
    EXPECT_EQ(answer, 'y');
    ::close(pipe[0]);
    ::close(pipe[1]);
    return child;
  }
};

TEST_F(ShardLockTest, ExcludesThreads) {
  for (const bool with_files : {true, false}) {
    const ShardLocks locks(with_files ? std::vector{locks_path()} : std::vector<std::filesystem::path>{});
    std::atomic<int> inside{0};
    std::atomic<int> most{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int round = 0; round < 5; ++round) {
          const ShardLock lock = locks.acquire(3, 20s);
          EXPECT_TRUE(lock.held_in_process());
          EXPECT_EQ(lock.held_on_node(), with_files);
          const int now = ++inside;
          if (now > most) most = now;
          std::this_thread::sleep_for(1ms);
          --inside;
        }
      });
    }
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(most, 1);
  }
}

TEST_F(ShardLockTest, OtherShardsAreFree) {
  const ShardLocks locks({locks_path()});
  const ShardLock first = locks.acquire(0, 1s);
  const auto before = Clock::now();
  const ShardLock second = locks.acquire(255, 10s);
  EXPECT_TRUE(second.held_on_node());
  EXPECT_LT(Clock::now() - before, 5s);
}

TEST_F(ShardLockTest, IsFreeAgainAfterReleaseAndMove) {
  const ShardLocks locks({locks_path()});
  ShardLock lock = locks.acquire(1, 1s);
  ShardLock moved = std::move(lock);
  EXPECT_FALSE(locks.acquire(1, 20ms).held_in_process());
  lock = std::move(moved);
  lock.release();
  EXPECT_TRUE(locks.acquire(1, 1s).held_on_node());
}

TEST_F(ShardLockTest, ExcludesProcessesUntilTheHolderIsKilled) {
  const pid_t child = start_holder();
  const ShardLocks locks({locks_path()});
  EXPECT_FALSE(locks.acquire(7, 50ms).held_on_node());
  ::kill(child, SIGKILL);
  EXPECT_EQ(exit_code(child), -1);
  EXPECT_TRUE(locks.acquire(7, 10s).held_on_node());
}

TEST_F(ShardLockTest, AStoppedHolderDelaysOthersByNoMoreThanTheBound) {
  const pid_t child = start_holder();
  ::kill(child, SIGSTOP);
  const ShardLocks locks({locks_path()});
  const auto before = Clock::now();
  const ShardLock lock = locks.acquire(7, 300ms);
  const auto waited = Clock::now() - before;
  EXPECT_FALSE(lock.held_on_node());
  EXPECT_GE(waited, 300ms);
  EXPECT_LT(waited, 5s);
  ::kill(child, SIGKILL);
  exit_code(child);
}

TEST_F(ShardLockTest, AForkedChildDoesNotKeepIt) {
  const ShardLocks locks({locks_path()});
  ShardLock held = locks.acquire(7, 1s);
  ASSERT_TRUE(held.held_on_node());
  int pipe[2];
  ASSERT_EQ(::pipe(pipe), 0);
  const pid_t child = fork_child([&] {
    const char answer = held.held_on_node() ? 'y' : 'n';
    if (::write(pipe[1], &answer, 1) != 1) return 1;
    for (;;) ::pause();
  });
  char answer = 0;
  EXPECT_EQ(::read(pipe[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'n');
  held.release();
  EXPECT_TRUE(ShardLocks({locks_path()}).acquire(7, 1s).held_on_node());
  ::kill(child, SIGKILL);
  exit_code(child);
  ::close(pipe[0]);
  ::close(pipe[1]);
}

TEST_F(ShardLockTest, AForkedChildDoesNotWaitForAThreadOfItsParent) {
  const ShardLocks locks(std::vector<std::filesystem::path>{});
  const ShardLock held = locks.acquire(7, 1s);
  const pid_t child = fork_child([&] {
    ShardLock lock = locks.acquire(7, 5s);
    if (!lock.held_in_process()) return 1;
    if (locks.acquire(7, 20ms).held_in_process()) return 2;
    lock.release();
    return locks.acquire(7, 1s).held_in_process() ? 0 : 3;
  });
  EXPECT_EQ(exit_code(child), 0);
  EXPECT_FALSE(locks.acquire(7, 20ms).held_in_process());
}

TEST_F(ShardLockTest, LockFilesArePrivateAndStay) {
  const mode_t umask_before = ::umask(0);
  { const ShardLock lock = ShardLocks({locks_path()}).acquire(0xab, 1s); }
  ::umask(umask_before);
  EXPECT_EQ(mode_of(locks_path()), 0700U);
  EXPECT_EQ(mode_of(locks_path() / "ab.lock"), 0600U);
}

TEST_F(ShardLockTest, TakesTheNextDirectoryWhenOneIsUnusable) {
  std::filesystem::create_directory(base_ / "open");
  std::filesystem::permissions(base_ / "open", std::filesystem::perms(0777));
  write_file(base_ / "file", {1});
  std::filesystem::create_directory_symlink(base_ / "elsewhere", base_ / "link");
  const ShardLocks locks({base_ / "open", base_ / "file", base_ / "link", locks_path()});
  EXPECT_EQ(locks.directory(), locks_path());
  EXPECT_EQ(files_below(base_ / "open", ""), 0U);
  const ShardLocks none({base_ / "open"});
  EXPECT_TRUE(none.directory().empty());
  EXPECT_TRUE(none.acquire(0, 1s).held_in_process());
}

TEST_F(ShardLockTest, DoesNotFollowALinkAtTheLocksName) {
  const ShardLocks locks({locks_path()});
  write_file(base_ / "victim", {1, 2, 3});
  std::filesystem::create_symlink(base_ / "victim", locks_path() / "00.lock");
  const ShardLock lock = locks.acquire(0, 1s);
  EXPECT_FALSE(lock.held_on_node());
  EXPECT_TRUE(lock.held_in_process());
  EXPECT_EQ(read_bytes(base_ / "victim").size(), 3U);
}

TEST_F(ShardLockTest, ComesBackWhenTheDirectoryWasRemoved) {
  const ShardLocks locks({locks_path()});
  std::filesystem::remove_all(locks_path());
  EXPECT_TRUE(locks.acquire(0, 1s).held_on_node());
}

TEST_F(ShardLockTest, OutlivesItsCache) {
  ShardLock lock;
  {
    BinaryCache cache(options());
    lock = cache.lock(identity_of(1));
    EXPECT_TRUE(lock.held_on_node());
    EXPECT_FALSE(cache.lock(identity_of(1), 10ms).held_in_process());
  }
  lock.release();
  EXPECT_FALSE(lock.held_in_process());
}

}  // namespace
}  // namespace hotgemm
