#pragma once

#include "base/file_descriptor.hpp"

#include <cstddef>
#include <span>

namespace hotgemm {

/// The worker's end of the socket that ChildProcess made. While it exists, stdin is empty and output on stdout goes to
/// stderr, so that nothing mixes with the records. When the parent is gone, the process ends at once, whatever its
/// other threads do. So no worker survives its parent in a hung kernel.
///
/// A process has one, for its whole life. Not thread-safe.
class ParentLink {
 public:
  static constexpr int kParentGone = 3;  ///< the exit status of a worker without a parent

  /// Throws Error{invalid_argument} if stdin is not a socket, that is, if the program was started by hand.
  ParentLink();
  ParentLink(const ParentLink&) = delete;
  ParentLink& operator=(const ParentLink&) = delete;

  /// Both functions block. Both end the process if the parent is gone.
  void read_all(std::span<std::byte> bytes);
  void write_all(std::span<const std::byte> bytes);

 private:
  FileDescriptor socket_;
};

}  // namespace hotgemm
