#pragma once

#include "base/file_descriptor.hpp"
#include "base/file_lock.hpp"
#include "records/append_file.hpp"
#include "records/rejection_log.hpp"

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace hotgemm {

/// The names, on disk, of the kernels that this process is about to run although nobody has vetted them: the rejections
/// that they get if the process does not survive. The file lies in v1/attempting of a user's layer; its name holds host
/// and process. The system drops its lock when the process ends, however it ends. A child of fork() does not have the
/// lock, and leaves the file alone. Not thread-safe.
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
  LockedDescriptor fd_;
  std::string name_;
};

/// Passes the attempts of each process that ended in them to `take`, and then removes their file. If `take` throws, the
/// file stays, and so does one that cannot be read. Troubles with files are reported to options.warn.
void take_attempts_of_the_dead(const LayerOptions& options,
                               const std::function<void(std::vector<RejectionRecord>)>& take);

}  // namespace hotgemm
