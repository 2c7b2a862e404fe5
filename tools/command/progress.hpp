#pragma once

#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace hotgemm::command {

/// From here on, the first Ctrl-C (or SIGTERM) asks the command to stop at the next safe point; the second ends it.
void watch_for_interrupt();
bool is_interrupted() noexcept;

/// How far long work has come, on stderr: a bar where that is a terminal, a line now and then where it is not.
class Progress {
 public:
  /// `what` is being done: "compile".
  Progress(std::string what, bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(std::size_t done, std::size_t total);
  /// The same in words of the caller's.
  void live(std::string_view text);
  /// A line that stays.
  void line(std::string_view text);

 private:
  void clear();
  void show(std::string_view text);
  bool is_time_for_a_line();

  std::string what_;
  bool quiet_;
  bool is_terminal_;
  bool has_bar_ = false;
  std::chrono::steady_clock::time_point last_line_;
};

}  // namespace hotgemm::command
