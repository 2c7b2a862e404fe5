#pragma once

#include "base/file_descriptor.hpp"

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hotgemm {

/// Runs a hotgemm program that works for this process. A socket to this process is its stdin and stdout (ParentLink is
/// the other end); it inherits stderr. The child is spawned, not forked, so this process may have used CUDA. It gets
/// its own process group, so that Ctrl-C reaches only this process.
///
/// Not thread-safe. A process may have several children; they do not disturb each other.
class ChildProcess {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  enum class Io { done, timed_out, closed };
  static constexpr std::chrono::seconds kReapPatience{10};

  /// `program` is a path; PATH is not searched. Throws Error{io_error} if the program cannot be run.
  ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments);
  /// Kills the child if it is still running.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  int pid() const { return pid_; }
  /// The socket, for waiting on several children at once. It is readable when there is something to read or the child
  /// has ended.
  int fd() const { return socket_.get(); }

  /// Writes all of `bytes`. Never raises SIGPIPE. If the result is not `done`, the child has received only a part of
  /// them.
  Io write_all(std::span<const std::byte> bytes, Deadline deadline);
  /// Fills `bytes`. Data that has arrived is read even after the deadline, so that a process that was stopped and
  /// continued does not lose its children. If the result is not `done`, `bytes` is not usable.
  Io read_all(std::span<std::byte> bytes, Deadline deadline);

  /// Sends SIGKILL unless the child has ended, and waits at most kReapPatience for its end; false if it did not end.
  bool kill();
  /// Closes the connection, which makes a hotgemm child end itself. Kills the child if it takes longer than `patience`.
  void end(std::chrono::milliseconds patience);
  /// "exit status 3" or "signal 11 (Segmentation fault)", or that the status is unknown. Call it after kill().
  std::string how_it_ended() const;
  /// True if the child ended by a signal that people or the out-of-memory killer use to end processes. Call it after
  /// kill(), which may itself have sent that signal.
  bool was_ended_from_outside() const;

 private:
  bool wait_for_end(Deadline deadline);

  FileDescriptor socket_;
  int pid_ = -1;
  std::optional<int> status_;    // set once the child has been reaped; 0 if it is lost
  bool is_status_lost_ = false;  // the program has reaped the child
};

}  // namespace hotgemm
