#include "base/file_lock.hpp"

#include "unit/cache_fixture.hpp"

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <optional>
#include <utility>

namespace hotgemm {
namespace {

class FileLockTest : public CacheTest {
 protected:
  LockedDescriptor open() const {
    return LockedDescriptor::open([&] { return ::open((base_ / "file").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600); });
  }
  /// A child that answers `question` with its exit code, after the parent's `meanwhile`.
  static bool child_says(
      const std::function<bool()>& question, const std::function<void()>& meanwhile = [] {}) {
    std::array<int, 2> go{};
    if (::pipe(go.data()) != 0) throw std::runtime_error("pipe failed");
    const pid_t child = fork_child([&] {
      char byte = 0;
      return ::read(go[0], &byte, 1) == 1 && question() ? 0 : 1;
    });
    meanwhile();
    EXPECT_EQ(::write(go[1], "g", 1), 1);
    const bool says = exit_code(child) == 0;
    ::close(go[0]);
    ::close(go[1]);
    return says;
  }
};

constexpr std::array kLocks{try_flock, try_range_lock};

TEST_F(FileLockTest, AChildOfForkDoesNotHaveIt) {
  for (const auto try_lock : kLocks) {
    std::optional<LockedDescriptor> file(open());
    ASSERT_EQ(try_lock(file->get()), LockAttempt::locked);
    const int number = file->get();
    EXPECT_TRUE(child_says([&] { return file->get() == -1 && ::fcntl(number, F_GETFD) == -1; }));
    EXPECT_EQ(file->get(), number);
    // The child lives on while the parent gives the lock up and takes it again.
    EXPECT_TRUE(child_says([] { return true; },
                           [&] {
                             file.reset();
                             file.emplace(open());
                             EXPECT_EQ(try_lock(file->get()), LockAttempt::locked);
                           }));
  }
}

TEST_F(FileLockTest, AChildThatDestroysItsCopyUnlocksNothing) {
  for (const auto try_lock : kLocks) {
    std::optional<LockedDescriptor> file(open());
    ASSERT_EQ(try_lock(file->get()), LockAttempt::locked);
    const int number = file->get();
    EXPECT_TRUE(child_says([&] {
      const int other = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (other != number) return false;  // so that the number is in use again
      file.reset();
      return ::fcntl(other, F_GETFD) != -1 && try_lock(open().get()) == LockAttempt::busy;
    }));
  }
}

TEST_F(FileLockTest, ADescriptorThatWasInheritedOtherwiseDoesNotKeepTheLock) {
  for (const auto try_lock : kLocks) {
    LockedDescriptor file = open();
    ASSERT_EQ(try_lock(file.get()), LockAttempt::locked);
    const int copy = ::dup(file.get());
    file.release();
    EXPECT_EQ(file.get(), -1);
    EXPECT_EQ(try_lock(open().get()), LockAttempt::locked);
    ::close(copy);
  }
}

TEST_F(FileLockTest, MovesWithItsOwner) {
  LockedDescriptor first = open();
  ASSERT_EQ(try_flock(first.get()), LockAttempt::locked);
  LockedDescriptor second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move)
  EXPECT_TRUE(second);
  EXPECT_EQ(try_flock(open().get()), LockAttempt::busy);
  second = LockedDescriptor();
  EXPECT_EQ(try_flock(open().get()), LockAttempt::locked);
  EXPECT_FALSE(LockedDescriptor::open([] { return -1; }));
}

}  // namespace
}  // namespace hotgemm
