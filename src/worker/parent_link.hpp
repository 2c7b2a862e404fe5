#pragma once

#include "base/file_descriptor.hpp"

#include <cstddef>
#include <span>

namespace hotgemm {

/// A worker's end of the socket that ChildProcess made. While it exists, stdin is empty and what is printed on stdout
/// goes to stderr: nothing mixes with the records. When the parent is gone the process ends at once, whatever its other
/// threads are doing, so none survives its parent in a hung kernel.
///
/// One per process, for as long as it runs. Not thread-safe.
class ParentLink {
 public:
  static constexpr int kParentGone = 3;  ///< the exit status of a worker without a parent

  /// Throws Error{invalid_argument} where stdin is no socket: the program was started by hand.
  ParentLink();
  ParentLink(const ParentLink&) = delete;
  ParentLink& operator=(const ParentLink&) = delete;

  /// Waits. Both end the process if the parent is gone.
  void read_all(std::span<std::byte> bytes);
  void write_all(std::span<const std::byte> bytes);

 private:
  FileDescriptor socket_;
};

}  // namespace hotgemm
