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

/// A program of our own that works for this one: its stdin and stdout are one socket to this process (ParentLink is the
/// other end), its stderr is ours. It is spawned, not forked, so this process may have used CUDA; it gets a process
/// group of its own, so that Ctrl-C reaches this process alone.
///
/// Not thread-safe; several in one process do not disturb each other.
class ChildProcess {
 public:
  using Deadline = std::chrono::steady_clock::time_point;
  enum class Io { done, timed_out, closed };
  static constexpr std::chrono::seconds kReapPatience{10};

  /// `program` is a path; PATH is not searched. Throws Error{io_error} if it cannot be run.
  ChildProcess(const std::filesystem::path& program, const std::vector<std::string>& arguments);
  /// Kills it if it still runs.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  int pid() const { return pid_; }
  /// To wait for several at once: readable when there is something to read, or the child has gone.
  int fd() const { return socket_.get(); }

  /// Writes all of `bytes`. Never raises SIGPIPE. After anything but done the other end knows part of them only.
  Io write_all(std::span<const std::byte> bytes, Deadline deadline);
  /// Fills `bytes`. What has come is read even if the deadline has passed, so that a process that was stopped and goes
  /// on does not lose its children. After anything but done what was read is of no use.
  Io read_all(std::span<std::byte> bytes, Deadline deadline);

  /// Sends SIGKILL unless it has ended, and waits at most kReapPatience for the end; false if that did not come.
  bool kill();
  /// Closes the connection, on which a child of ours ends itself; kills it if that takes longer than `patience`.
  void end(std::chrono::milliseconds patience);
  /// "exit status 3", "signal 11 (Segmentation fault)"; after kill().
  std::string how_it_ended() const;
  /// It ended by a signal with which processes are asked to end, or are ended when memory runs out; after kill(), which
  /// may have sent it.
  bool was_ended_from_outside() const;

 private:
  bool wait_for_end(Deadline deadline);

  FileDescriptor socket_;
  int pid_ = -1;
  std::optional<int> status_;  // once it has been reaped
};

}  // namespace hotgemm
