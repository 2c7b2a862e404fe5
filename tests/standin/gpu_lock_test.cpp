#include "runtime/gpu_lock.hpp"

#include "context_impl.hpp"
#include "gpu/nvml.hpp"
#include "standin/runtime_fixture.hpp"

#include "tune/device_measurer.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <future>
#include <thread>

namespace hotgemm::standin {
namespace {

using namespace std::chrono_literals;

class GpuLockTest : public RuntimeTest {
 protected:
  std::vector<std::filesystem::path> directories() const { return {cache_.path() / "locks"}; }
  std::filesystem::path lock_file() const { return directories()[0] / "gpu-test.lock"; }
  GpuLock lock(std::chrono::milliseconds wait = 0ms) const { return {"test", directories(), wait}; }
  void expect_busy(const char* holder) const {
    expect_thrown(ErrorCode::io_error, {"GPU test is still being measured by ", holder}, [&] { lock(1ms); });
  }
  /// A child that runs `body` and then waits until it is killed.
  template <class Body>
  static pid_t child(Body&& body) {
    int ready[2];
    if (::pipe(ready) != 0) throw std::runtime_error("pipe");
    const pid_t pid = ::fork();
    if (pid == 0) {
      body([&] {
        if (::write(ready[1], "r", 1) != 1) ::_exit(1);
        for (;;) ::pause();
      });
      ::_exit(2);
    }
    char byte = 0;
    EXPECT_EQ(::read(ready[0], &byte, 1), 1);
    ::close(ready[0]);
    ::close(ready[1]);
    return pid;
  }
  static void kill_and_wait(pid_t pid) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
};

TEST_F(GpuLockTest, ExcludesOtherProcessesUntilTheirEnd) {
  const pid_t holder = child([&](auto&& wait) {
    const GpuLock held = lock();
    wait();
  });
  expect_busy("another process");
  const auto inode = [&] {
    struct stat status {};
    EXPECT_EQ(::stat(lock_file().c_str(), &status), 0);
    return status.st_ino;
  };
  const auto before = inode();
  kill_and_wait(holder);
  { const GpuLock held = lock(10s); }
  EXPECT_EQ(inode(), before) << "the file is never replaced";
}

TEST_F(GpuLockTest, ExcludesOtherThreads) {
  std::optional<GpuLock> held(lock());
  expect_busy("another thread");
  const GpuLock other_gpu("another", directories(), 0ms);
  std::future<void> waiter = std::async(std::launch::async, [&] { lock(20s); });
  held.reset();
  EXPECT_NO_THROW(waiter.get());
}

TEST_F(GpuLockTest, AForkedChildDoesNotKeepIt) {
  std::optional<GpuLock> held(lock());
  const pid_t forked = child([&](auto&& wait) { wait(); });
  held.reset();
  const pid_t other = child([&](auto&& wait) {
    const GpuLock taken = lock(10s);
    wait();
  });
  expect_busy("another process");
  kill_and_wait(other);
  kill_and_wait(forked);
}

TEST_F(GpuLockTest, WithoutADirectoryItExcludesThreadsOnly) {
  const GpuLock held("test", {"/proc/none"}, 0ms);
  EXPECT_THROW(GpuLock("test", {"/proc/none"}, 0ms), Error);
}

TEST_F(GpuLockTest, AMeasurerHoldsItForItsGpu) {
  const Workload problem = small_case().described();
  DeviceMeasurer measurer(impl_of(context()).current());
  measurer.begin(problem, {.scratch_bytes = 1 << 20});
  EXPECT_THROW(GpuLock(driver_, 0ms), Error);
  Context second(options(Policy::tune));
  EXPECT_NE(&impl_of(second).current(), &impl_of(context()).current()) << "another state of the same GPU";
  measurer.end();
  { const GpuLock held(driver_, 0ms); }
  const std::string file = "gpu-" + bus_id(driver_, 0) + ".lock";
  EXPECT_TRUE(std::filesystem::remove(gpu_lock_directories()[0] / file)) << "of this process only";
}

}  // namespace
}  // namespace hotgemm::standin
