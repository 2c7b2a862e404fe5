#pragma once

#include "base/file_descriptor.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// The files of records: `<layer>/v1/<kind>/*.jsonl`, one segment per writer, which alone appends to it. Every file is
// opened without following symbolic links and judged by its descriptor. What these functions refuse or cannot do they
// say to a `Report`; they throw only where stated.

namespace hotgemm {

inline constexpr std::size_t kMaxDatabaseFileBytes = std::size_t{64} << 20;

// The kinds of records: directories of a layer's v1.
inline constexpr const char* kTuningRecords = "db";
inline constexpr const char* kRejections = "rejected";
inline constexpr const char* kTuneJournals = "tune";
inline constexpr const char* kExhaustiveTraces = "exhaustive";

using Report = std::function<void(const std::string&)>;

/// A whole file in memory.
struct DatabaseFile {
  std::filesystem::path path;
  std::unique_ptr<char[]> data;
  std::size_t size = 0;

  std::string_view text() const { return {data.get(), size}; }
};

/// Calls visit(text, number, is_torn) for each line that is not empty. The last one is torn if no newline ends it: its
/// writer is at it still, or was killed.
template <class Visit>
void for_each_line(std::string_view text, Visit&& visit) {
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const bool is_torn = end == std::string_view::npos;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(is_torn ? text.size() : end + 1);
    if (!line.empty()) visit(line, number, is_torn);
  }
}

/// The directory of a kind of records in a user's layer; absent where it does not exist. It and every directory from
/// `layer` down must belong to this user and be writable by nobody else, unless `trust_shared`; one that is not is
/// reported. With `create`, what is missing is made with mode 0700.
FileDescriptor open_records(const std::filesystem::path& layer, const char* kind, bool trust_shared, bool create,
                            const Report& report);

/// The names of the segments in an open directory, sorted.
std::vector<std::string> segment_names(int directory_fd);

/// The segments of a kind in a user's layer.
std::vector<DatabaseFile> read_user_layer(const std::filesystem::path& layer, const char* kind, bool trust_shared,
                                          const Report& report);

/// The `*.jsonl` files of `layer` and of `layer`/v1/db. With `check_owner`, a file that belongs neither to this user
/// nor to root is reported and left out.
std::vector<DatabaseFile> read_only_layer(const std::filesystem::path& layer, bool check_owner, const Report& report);

/// One file, or the `*.jsonl` files of a directory and of its v1/db, whoever owns them. Throws Error{io_error} where
/// there is nothing to read.
std::vector<DatabaseFile> read_named(const std::filesystem::path& path);

/// All of an open file; throws Error{io_error} for one that is no regular file or exceeds kMaxDatabaseFileBytes.
DatabaseFile read_open_file(int fd, std::filesystem::path path);

/// Appends `text` to an open file by one write where the system lets it. Throws Error{io_error} that names `name`; what
/// a failed write left in a regular file is cut off again.
void append_text(int fd, const std::string& name, std::string_view text);

/// A segment that this object alone appends to. While it exists it holds a shared lock on the file, so that
/// lock_segment leaves it alone.
class Segment {
 public:
  /// A new, empty segment `<host>-<pid>-<random>.jsonl`. Throws Error{io_error}.
  static Segment create(const std::filesystem::path& layer, const char* kind, bool trust_shared);

  /// Appends `line` and a newline. Throws as append_text does.
  void append(std::string_view line);

 private:
  Segment(FileDescriptor fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
  FileDescriptor fd_;
  std::string name_;
};

struct LockedSegment {
  FileDescriptor fd;
  std::string name;
};

/// A segment that no process appends to and no other process removes, locked; nullopt for any other.
std::optional<LockedSegment> lock_segment(int directory_fd, const std::string& name);

/// "<host>-<pid>-<random>.jsonl": never the name of a file that exists already.
std::string new_segment_name();

/// Writes a file by way of a temporary and a rename. Throws Error{io_error}; `directory_fd` may be AT_FDCWD.
void publish_file(int directory_fd, const std::string& name, std::string_view text, unsigned mode);

}  // namespace hotgemm
