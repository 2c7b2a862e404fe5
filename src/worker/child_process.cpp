#include "worker/child_process.hpp"

#include "base/log.hpp"

#include <hotgemm/error.hpp>

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <initializer_list>
#include <thread>

extern "C" char** environ;

namespace hotgemm {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kOwnEndPatience{1000};

[[noreturn]] void fail(const std::string& attempt, int error) {
  throw Error(ErrorCode::io_error, attempt + ": " + std::strerror(error));
}

/// The start conditions of the child: the socket as stdin and stdout, no blocked or ignored signals, a process group of
/// its own.
class SpawnSettings {
 public:
  explicit SpawnSettings(int socket) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawnattr_init(&attributes_);
    // dup2 makes copies without close-on-exec. Our other files have it set; those of the host program may not.
    posix_spawn_file_actions_adddup2(&actions_, socket, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, socket, STDOUT_FILENO);
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34)
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);
#endif
#endif
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (const int signal : {SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGCHLD}) sigaddset(&defaults, signal);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &defaults);
    posix_spawnattr_setpgroup(&attributes_, 0);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  }
  ~SpawnSettings() {
    posix_spawnattr_destroy(&attributes_);
    posix_spawn_file_actions_destroy(&actions_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_;
  posix_spawnattr_t attributes_;
};

/// True if `socket` became ready for `events`, or was closed at the other end, before the deadline.
bool wait_for(int socket, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
    constexpr std::int64_t kLongest = 60'000;  // keeps the timeout inside the int of poll
    ::pollfd entry{socket, events, 0};
    const int ready = ::poll(&entry, 1, static_cast<int>(std::clamp<std::int64_t>(left, 0, kLongest)));
    if (ready > 0) return true;
    if (ready < 0 && errno != EINTR) fail("wait for a worker process", errno);
    if (Clock::now() >= deadline) return false;
  }
}

bool would_block() { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

ChildProcess::ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) fail("connect to " + program.string(), errno);
  socket_ = FileDescriptor(ends[0]);
  const FileDescriptor other(ends[1]);
  const SpawnSettings settings(other.get());
  std::vector<std::string> words{program.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const int error =
      ::posix_spawn(&pid_, program.c_str(), settings.actions(), settings.attributes(), argv.data(), environ);
  if (error != 0) fail("run " + program.string(), error);
}

ChildProcess::~ChildProcess() { kill(); }

ChildProcess::Io ChildProcess::write_all(std::span<const std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent >= 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(sent));
    } else if (!would_block()) {
      return Io::closed;
    } else if (!wait_for(socket_.get(), POLLOUT, deadline)) {
      return Io::timed_out;
    }
  }
  return Io::done;
}

ChildProcess::Io ChildProcess::read_all(std::span<std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) {
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    } else if (got == 0 || !would_block()) {
      return Io::closed;
    } else if (!wait_for(socket_.get(), POLLIN, deadline)) {
      return Io::timed_out;
    }
  }
  return Io::done;
}

bool ChildProcess::wait_for_end(Deadline deadline) {
  for (auto nap = std::chrono::microseconds(100);; nap = std::min(nap * 2, std::chrono::microseconds(10'000))) {
    int status = 0;
    const pid_t reaped = ::waitpid(pid_, &status, WNOHANG);
    if (reaped == pid_) status_ = status;
    // If the host program ignores SIGCHLD, the kernel reaps its children, and the exit status is lost.
    if (reaped < 0 && errno == ECHILD) {
      is_status_lost_ = true;
      status_ = 0;
    }
    if (status_) return true;
    if (Clock::now() >= deadline) return false;
    std::this_thread::sleep_for(nap);
  }
}

bool ChildProcess::kill() {
  if (status_) return true;
  // A closed socket means that the child is about to end by itself. Wait a little, because its exit status is wanted.
  std::byte ignored{};
  const bool is_closed = ::recv(socket_.get(), &ignored, 1, MSG_PEEK | MSG_DONTWAIT) == 0;
  if (wait_for_end(Clock::now() + (is_closed ? kOwnEndPatience : std::chrono::milliseconds(0)))) return true;
  ::kill(pid_, SIGKILL);
  if (wait_for_end(Clock::now() + kReapPatience)) return true;
  log(LogLevel::error, "process " + std::to_string(pid_) + " does not end although it was killed");
  return false;
}

void ChildProcess::end(std::chrono::milliseconds patience) {
  if (status_) return;
  ::shutdown(socket_.get(), SHUT_RDWR);
  if (!wait_for_end(Clock::now() + patience)) kill();
}

std::string ChildProcess::how_it_ended() const {
  if (!status_) return "still running";
  if (is_status_lost_) return "an unknown status: this program ignores SIGCHLD, or waits for all of its children";
  if (WIFSIGNALED(*status_)) {
    return "signal " + std::to_string(WTERMSIG(*status_)) + " (" + ::strsignal(WTERMSIG(*status_)) + ")";
  }
  return "exit status " + std::to_string(WEXITSTATUS(*status_));
}

bool ChildProcess::was_ended_from_outside() const {
  if (!status_ || !WIFSIGNALED(*status_)) return false;
  const auto signals = {SIGKILL, SIGTERM, SIGINT, SIGHUP};
  return std::ranges::find(signals, WTERMSIG(*status_)) != signals.end();
}

}  // namespace hotgemm
