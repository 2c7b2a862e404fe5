#pragma once

#include "records/database_files.hpp"

#include <filesystem>
#include <string>
#include <string_view>

namespace hotgemm {

/// Where what later runs go on with is kept.
struct LayerOptions {
  std::filesystem::path user_directory;  ///< a user's layer; empty: kept in memory only
  bool writable = true;                  ///< false: what is added stays in memory
  bool trust_shared = false;             ///< as in DatabaseOptions
  Report warn;                           ///< as in DatabaseOptions
};

/// A file of lines that one process at a time appends to and a later one goes on with. Not thread-safe.
///
/// While this object lives it holds a lock on the file. A line that a killed writer left unfinished is closed before
/// anything follows it, so that it spoils no other.
class AppendFile {
 public:
  /// `name` among the records of `kind` in a user's layer, under the conditions of open_records; made with mode 0600
  /// where it is missing. Symbolic links are not followed. With `afresh`, what it holds is dropped. Throws
  /// Error{io_error}, also where another process appends to it.
  static AppendFile in_layer(const std::filesystem::path& layer, const char* kind, const std::string& name,
                             bool trust_shared, bool afresh);

  /// A file that the user has named, whatever it is. Throws Error{io_error}.
  static AppendFile at(const std::filesystem::path& path, bool afresh);

  /// What the file held when it was opened; empty for one that began afresh.
  std::string_view text() const { return before_.text(); }
  const std::filesystem::path& path() const { return path_; }

  /// Appends `lines`, each with its newline. Throws as append_text does.
  void append(std::string_view lines) { append_text(fd_.get(), path_.string(), lines); }

 private:
  AppendFile(FileDescriptor fd, std::filesystem::path path, bool afresh);

  FileDescriptor fd_;
  std::filesystem::path path_;
  DatabaseFile before_;
};

}  // namespace hotgemm
