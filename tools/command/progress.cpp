#include "command/progress.hpp"

#include "command/standard_streams.hpp"
#include "command/terminal.hpp"

#include <fmt/format.h>

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <system_error>
#include <thread>

namespace hotgemm::command {
namespace {

constexpr std::size_t kBarWidth = 30;
constexpr std::size_t kRoomForBar = 80;  // in narrower terminals the item is worth more
constexpr std::chrono::seconds kLineEvery{5};

// A global, because a signal handler can access nothing else.
std::atomic<bool> interrupt_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free);

/// Signals so close to each other are one request: `timeout` of coreutils sends one to the process and another to its
/// group.
constexpr long long kOneRequestNs = 200'000'000;
std::atomic<long long> first_request_ns{0};
static_assert(std::atomic<long long>::is_always_lock_free);

/// Notes a request. True if it is a second one, which ends the program at once.
bool is_second_request() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const long long now_ns = now.tv_sec * 1'000'000'000LL + now.tv_nsec;
  if (interrupt_requested) return now_ns - first_request_ns > kOneRequestNs;
  first_request_ns = now_ns;
  interrupt_requested = true;
  return false;
}

extern "C" void request_interrupt(int signal) {
  if (!is_second_request()) return;
  std::signal(signal, SIG_DFL);
  raise(signal);  // takes effect when this handler returns
}

sigset_t interrupts() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

[[noreturn]] void wait_for_requests() {
  const sigset_t signals = interrupts();
  for (;;) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0 || !is_second_request()) continue;
    std::signal(signal, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
    raise(signal);
  }
}

}  // namespace

void watch_for_interrupt() {
  struct sigaction action {};
  action.sa_handler = request_interrupt;
  action.sa_flags = SA_RESTART;
  for (const int signal : {SIGINT, SIGTERM}) sigaction(signal, &action, nullptr);
  // For some moments of a compilation NVRTC's action stands in place of this one, and ends the program. So a thread
  // takes the signals where it can. Threads that were there before, of the driver say, may take them by the action.
  const sigset_t signals = interrupts();
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &signals, &before);
  try {
    std::thread(wait_for_requests).detach();
  } catch (const std::system_error&) {  // there are no more threads: the action takes them
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
}

UnblockedInterrupts::UnblockedInterrupts() noexcept {
  const sigset_t signals = interrupts();
  pthread_sigmask(SIG_UNBLOCK, &signals, &before_);
}

UnblockedInterrupts::~UnblockedInterrupts() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

bool is_interrupted() noexcept { return interrupt_requested; }

Progress::Progress(std::string what, bool quiet)
    : what_(std::move(what)),
      quiet_(quiet),
      has_bars_(can_rewrite_lines(STDERR_FILENO)),
      last_line_(std::chrono::steady_clock::now()) {}

Progress::~Progress() { clear(); }

void Progress::clear() {
  if (has_bar_) print_err("\r\x1b[K");
  has_bar_ = false;
  std::fflush(stderr);
}

void Progress::update(std::size_t done, std::size_t total, std::string_view item) {
  if (quiet_) return;
  const bool is_working = done < total && !item.empty();
  const std::string state =
      fmt::format("{}/{}{}{}{}", done, total, time_left(done, total), is_working ? ", " : "", is_working ? item : "");
  if (!has_bars_) {
    if (done == total || is_time_for_a_line()) print_err("{}: {}\n", what_, state);
  } else if (terminal_columns(STDERR_FILENO) < kRoomForBar) {
    show(what_ + " " + state);
  } else {
    const std::size_t filled = total == 0 ? kBarWidth : done * kBarWidth / total;
    show(fmt::format("{} [{:#<{}}{:.<{}}] {}", what_, "", filled, "", kBarWidth - filled, state));
  }
}

std::string Progress::time_left(std::size_t done, std::size_t total) {
  pace_.add(done, std::chrono::steady_clock::now());
  const std::optional<std::chrono::seconds> left = pace_.left(total);
  return left && done < total ? ", " + readable_time(*left) + " left" : "";
}

void Progress::live(std::string_view text) {
  if (quiet_) return;
  if (has_bars_) {
    show(text);
  } else if (is_time_for_a_line()) {
    print_err("{}\n", text);
  }
}

void Progress::show(std::string_view text) {
  // A longer line would wrap, and a wrapped line cannot be erased.
  print_err("\r\x1b[K{}", first_columns(text, terminal_columns(STDERR_FILENO) - 1));
  std::fflush(stderr);
  has_bar_ = true;
}

bool Progress::is_time_for_a_line() {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_line_ < kLineEvery) return false;
  last_line_ = now;
  return true;
}

void Progress::line(std::string_view text) {
  if (quiet_) return;
  clear();
  print_err("{}\n", text);
}

}  // namespace hotgemm::command
