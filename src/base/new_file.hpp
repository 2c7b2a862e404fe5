#pragma once

#include "base/file_descriptor.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace hotgemm {

/// 16 random hex digits. Throws Error{io_error}.
std::string random_digits();

/// A file that appears under its name, in the place of another one or of none, once it is complete. Until then it has a
/// temporary name in the same directory, under which it follows no link and replaces nothing. All functions throw
/// Error{io_error}.
class NewFile {
 public:
  /// `directory_fd` may be AT_FDCWD. The file gets `mode` whatever the umask; nullopt: 0666 less the umask.
  NewFile(int directory_fd, const std::string& name, std::optional<unsigned> mode = std::nullopt);
  /// Removes the file if it was not published.
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  void write(std::string_view bytes);
  /// Writes the file to the disk, and gives it its name.
  void publish();

 private:
  [[noreturn]] void fail() const;

  int directory_fd_;
  std::string name_, temporary_;
  FileDescriptor fd_;
};

}  // namespace hotgemm
