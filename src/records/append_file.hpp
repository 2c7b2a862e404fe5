#pragma once

#include "records/database_files.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace hotgemm {

/// Path, ownership and write mode of a file that later runs append to.
struct LayerOptions {
  std::filesystem::path user_directory;  ///< a user's layer; empty: kept in memory only
  bool writable = true;                  ///< false: additions stay in memory
  bool trust_shared = false;             ///< as in DatabaseOptions
  Report warn;                           ///< as in DatabaseOptions
};

/// A file of lines. One process at a time appends to it, and a later process continues it. Not thread-safe.
///
/// This object holds a lock on the file; a child of fork() does not, and cannot append. If a killed writer left an
/// unfinished line, the line is ended first, so that it cannot spoil the next one.
class AppendFile {
 public:
  /// Opens `name` among the records of `kind` in a user's layer, under the conditions of open_records. A missing file
  /// is made with the mode of record_file_mode. Symbolic links are not followed. With `afresh`, the file is emptied.
  /// Throws Error{io_error}, also if another process is appending to the file.
  static AppendFile in_layer(const std::filesystem::path& layer, const char* kind, const std::string& name,
                             bool trust_shared, bool afresh);

  /// Opens a file that the user named, of any type. Throws Error{io_error}.
  static AppendFile at(const std::filesystem::path& path, bool afresh);

  /// The text of the file when it was opened; empty with `afresh`.
  std::string_view text() const { return before_.text(); }
  const std::filesystem::path& path() const { return path_; }

  /// Appends `lines`, each of which ends with a newline. Throws as append_text does.
  void append(std::string_view lines) { append_text(fd_.get(), path_.string(), lines); }

 private:
  AppendFile(LockedDescriptor fd, std::filesystem::path path, bool afresh);

  LockedDescriptor fd_;
  std::filesystem::path path_;
  DatabaseFile before_;
};

}  // namespace hotgemm
