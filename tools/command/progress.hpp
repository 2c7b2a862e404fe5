#pragma once

#include "base/work_pace.hpp"

#include <signal.h>

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace hotgemm::command {

/// From now on the first Ctrl-C (or SIGTERM) asks the command to stop at the next safe point; a second one ends it,
/// unless it comes within 0.2 s. A command calls this before the work that asks is_interrupted(), and after it has read
/// its input: until then a signal ends it. A thread takes both signals, which the calling thread blocks.
void watch_for_interrupt();
/// As long as an object lives, the thread that made it takes both signals, and so do programs that the thread starts.
class UnblockedInterrupts {
 public:
  UnblockedInterrupts() noexcept;
  ~UnblockedInterrupts();
  UnblockedInterrupts(const UnblockedInterrupts&) = delete;
  UnblockedInterrupts& operator=(const UnblockedInterrupts&) = delete;

 private:
  sigset_t before_;
};
bool is_interrupted() noexcept;

/// Shows the progress of long work on stderr: a bar if stderr is a terminal that can erase a line, without the bar if
/// it is a narrow one; otherwise a line now and then.
class Progress {
 public:
  /// `what` names the work, such as "compile".
  Progress(std::string what, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// With the time left, once there is something to tell it by, and what is being worked on.
  void update(std::size_t done, std::size_t total, std::string_view item = {});
  /// Erases the bar.
  void end() { clear(); }
  /// Shows the caller's text in place of the bar.
  void live(std::string_view text);
  /// Prints a line that stays.
  void line(std::string_view text);

 private:
  void clear();
  void show(std::string_view text);
  bool is_time_for_a_line();
  std::string time_left(std::size_t done, std::size_t total);

  std::string what_;
  bool quiet_;
  bool has_bars_;
  bool has_bar_ = false;  ///< one is shown now
  std::chrono::steady_clock::time_point last_line_;
  WorkPace pace_;
};

}  // namespace hotgemm::command
