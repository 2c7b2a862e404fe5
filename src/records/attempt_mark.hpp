#pragma once

#include "base/file_descriptor.hpp"
#include "records/append_file.hpp"
#include "records/rejection_log.hpp"

#include <span>
#include <string>
#include <vector>

namespace hotgemm {

/// The names, on disk, of the kernels that this process is about to run although nobody has vetted them: the rejections
/// that they get if the process does not survive. The file lies in v1/attempting of a user's layer; its name holds host
/// and process. The system drops its lock when the process ends, however it ends. A child of fork() keeps the lock
/// until it ends too. Not thread-safe.
class AttemptMark {
 public:
  /// Writes nothing yet.
  explicit AttemptMark(LayerOptions options) : options_(std::move(options)) {}
  /// Removes the file: this process has survived.
  ~AttemptMark();
  AttemptMark(const AttemptMark&) = delete;
  AttemptMark& operator=(const AttemptMark&) = delete;

  /// Replaces the content of the file. It is on the disk when the function returns, fsync included. Throws
  /// Error{io_error}, also if the layer is not writable.
  void set(std::span<const RejectionRecord> attempts);

 private:
  void create();

  LayerOptions options_;
  FileDescriptor directory_;
  FileDescriptor fd_;
  std::string name_;
};

/// The attempts of processes that ended in them. Removes their files. Troubles are reported to options.warn.
std::vector<RejectionRecord> take_attempts_of_the_dead(const LayerOptions& options);

}  // namespace hotgemm
