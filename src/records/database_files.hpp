#pragma once

#include "base/file_descriptor.hpp"
#include "base/file_lock.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

// The files of records: `<layer>/v1/<kind>/*.jsonl`. Each file is a segment with one writer, the only process that
// appends to it. Every file is opened without following symbolic links and checked through its descriptor. These
// functions tell a `Report` about refusals and failures; they throw only where stated.

namespace hotgemm {

/// The size at which prune begins another segment. A file that is read may have any size; earlier versions read no
/// larger ones.
inline constexpr std::size_t kSegmentBytes = std::size_t{64} << 20;

// The kinds of records. Each is the name of a directory in a layer's v1.
inline constexpr const char* kTuningRecords = "db";
inline constexpr const char* kRejections = "rejected";
inline constexpr const char* kTuneJournals = "tune";
inline constexpr const char* kCublasChoices = "cublas";
inline constexpr const char* kExhaustiveTraces = "exhaustive";
inline constexpr const char* kVettedKernels = "vetted";
inline constexpr const char* kAttempts = "attempting";

using Report = std::function<void(const std::string&)>;

/// A whole file in memory. It is a copy, because a process dies when a file that it has mapped is cut short.
struct DatabaseFile {
  std::filesystem::path path;
  std::unique_ptr<char[]> data;
  std::size_t size = 0;

  std::string_view text() const { return {data.get(), size}; }
};

/// Calls visit(text, number, is_torn) for each line that is not empty. The last line is torn if it has no newline: its
/// writer has not finished it, or was killed.
template <class Visit>
void for_each_line(std::string_view text, Visit&& visit) {
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    const bool is_torn = end == std::string_view::npos;
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(is_torn ? text.size() : end + 1);
    if (!line.empty()) visit(line, number, is_torn);
  }
}

/// Opens the directory of one kind of records in a user's layer; empty if it does not exist. It and every directory
/// from `layer` down must belong to this user and be writable by nobody else, unless `trust_shared`. A directory that
/// breaks this rule is reported. With `create`, missing directories are made with mode 0700; with that of `layer` if
/// `trust_shared`, and others may write to `layer`.
FileDescriptor open_records(const std::filesystem::path& layer, const char* kind, bool trust_shared, bool create,
                            const Report& report);

/// The mode of a new file in an open directory of records: 0600; that of the directory, without the right to execute,
/// if `trust_shared`, and others may write to the directory.
unsigned record_file_mode(int directory_fd, bool trust_shared);

/// Makes a file of that mode, whatever the umask, and opens it for reading and appending. Returns -1, with errno, if it
/// is there, or if it cannot be made.
int open_new_records(int directory_fd, const std::string& name, bool trust_shared);

/// The names of the segments in an open directory, sorted.
std::vector<std::string> segment_names(int directory_fd);

/// The segments of one kind of records in a user's layer. A segment that does not belong to this user, or that others
/// may write to, is reported and left out, unless `trust_shared`.
std::vector<DatabaseFile> read_user_layer(const std::filesystem::path& layer, const char* kind, bool trust_shared,
                                          const Report& report);

/// The users that may own a read-only layer and write to it.
struct LayerTrust {
  std::optional<unsigned> owner;  ///< another user that may own it, beside this one and root
  bool trust_shared = false;      ///< anyone may own it and write to it
};

/// The `*.jsonl` files of `layer` and of `layer`/v1/db. A directory or a file that `trust` does not cover, by its owner
/// or because others may write to it, is reported and left out. A directory without such files is not judged.
std::vector<DatabaseFile> read_only_layer(const std::filesystem::path& layer, const LayerTrust& trust,
                                          const Report& report);

/// One file, or the `*.jsonl` files of a directory and of its v1/db, whoever owns them. Throws Error{invalid_argument},
/// since the user has named the path, if there is nothing to read.
std::vector<DatabaseFile> read_named(const std::filesystem::path& path);

/// The content of an open file. Throws Error{io_error} if it is not a regular file or does not fit into memory.
DatabaseFile read_open_file(int fd, std::filesystem::path path);

/// Appends `text` to an open file, with a single write if the system allows it. Throws Error{io_error} that names
/// `name`. If a write to a regular file fails, the part already written is cut off again.
void append_text(int fd, const std::string& name, std::string_view text);

/// A segment that only this object appends to. While the object exists it holds a shared lock on the file, so that
/// lock_segment does not take it. A child of fork() does not have the segment: it makes its own.
class Segment {
 public:
  /// Makes a new, empty segment `<host>-<pid>-<random>.jsonl`. Throws Error{io_error}.
  static Segment create(const std::filesystem::path& layer, const char* kind, bool trust_shared);

  /// False in a child of the process that made the segment.
  bool is_ours() const { return static_cast<bool>(fd_); }

  /// Appends `line` and a newline. Throws as append_text does.
  void append(std::string_view line);

 private:
  Segment(LockedDescriptor fd, std::string name) : fd_(std::move(fd)), name_(std::move(name)) {}
  LockedDescriptor fd_;
  std::string name_;
};

/// The segment to append to: `kept`, or a new one, which it then holds, if there is none or this is a child of fork().
/// Throws as Segment::create does.
Segment& own_segment(std::optional<Segment>& kept, const std::filesystem::path& layer, const char* kind,
                     bool trust_shared);

struct LockedSegment {
  LockedDescriptor fd;
  std::string name;
};

/// Locks a segment that no process is appending to and no other process has locked; nullopt for any other segment.
std::optional<LockedSegment> lock_segment(int directory_fd, const std::string& name);

/// A name of the form "<host>-<pid>-<random>.jsonl". It is never the name of an existing file.
std::string new_segment_name();

/// Locks the directory of a file that is about to be read and replaced, against others that do the same. Waits for ten
/// minutes at most, then throws Error{io_error}. Empty, or without effect, where a directory cannot be locked.
LockedDescriptor lock_for_replacing(const std::filesystem::path& file);

/// Writes a temporary file of `lines`, each with a newline, and renames it to `name`. It gets `mode` whatever the
/// umask; nullopt: 0666 less the umask. Throws Error{io_error}. `directory_fd` may be AT_FDCWD.
void publish_lines(int directory_fd, const std::string& name, std::span<const std::string> lines,
                   std::optional<unsigned> mode);

}  // namespace hotgemm
