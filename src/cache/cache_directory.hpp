#pragma once

#include <sys/stat.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hotgemm {

/// What a directory must be to be used.
struct DirectoryRules {
  bool writable = false;      ///< must be owned by the effective user; otherwise root may own it too
  bool trust_shared = false;  ///< accept any owner, and a mode that lets others write
};

/// An open directory whose owner and mode have been checked, and the file operations below it.
///
/// Everything is relative to the descriptor, and no symbolic link is followed from it on: another user who can rename
/// things around it cannot lead us elsewhere. Functions throw std::system_error, with the path, when the system
/// refuses, and Error{io_error} when a rule does (of a file: "it is …", without its path). Const members are safe to
/// call from several threads.
class CacheDirectory {
 public:
  struct File {
    std::vector<std::uint8_t> bytes;
    struct ::stat status {};
  };

  /// Opens an absolute path; nullopt when nothing is there. With `create`, makes it and its missing parents (mode 0700
  /// whatever the umask; what exists is never changed).
  static std::optional<CacheDirectory> open(const std::filesystem::path& path, DirectoryRules rules, bool create);

  CacheDirectory(CacheDirectory&& other) noexcept;
  CacheDirectory& operator=(CacheDirectory&& other) noexcept;
  CacheDirectory(const CacheDirectory&) = delete;
  CacheDirectory& operator=(const CacheDirectory&) = delete;
  ~CacheDirectory();

  const std::filesystem::path& path() const { return path_; }

  std::optional<CacheDirectory> subdirectory(const std::string& name, bool create) const;
  /// What is in it, without "." and "..", in no order.
  std::vector<std::string> names() const;
  /// What lies at `name` itself, a link or not; nullopt when nothing does.
  std::optional<struct ::stat> status(const std::string& name) const;

  /// Reads a whole regular file of at most `max_bytes` that has one name and a trusted owner and mode; nullopt when
  /// nothing is there. Never blocks on a FIFO.
  std::optional<File> read(const std::string& name, std::size_t max_bytes) const;
  /// Makes a file that did not exist, with mode 0600 whatever the umask. On failure nothing is left behind.
  void write_new(const std::string& name, std::span<const std::uint8_t> bytes, bool durable) const;
  /// Opens for locking, making the file when it is absent; never truncates. The caller closes the descriptor.
  int open_lock_file(const std::string& name) const;
  void rename(const std::string& from, const CacheDirectory& to, const std::string& name) const;
  /// Removes a file; false when it is already gone.
  bool remove(const std::string& name) const;
  /// Sets the time of modification to now. Failure is of no consequence.
  void touch(const std::string& name) const noexcept;
  /// Makes renames in it survive a power cut.
  void sync() const;

 private:
  CacheDirectory(int fd, std::filesystem::path path, DirectoryRules rules);
  void check_directory() const;
  void check_file(const struct ::stat& status, std::size_t max_bytes) const;
  [[noreturn]] void fail(const std::string& what, const std::string& name) const;

  int fd_ = -1;
  std::filesystem::path path_;
  DirectoryRules rules_;
  // 0700 and 0600, or in a directory that is shared on purpose what the root's mode lets others do.
  mode_t directory_mode_ = 0700;
  mode_t file_mode_ = 0600;
};

/// Absolute, without "." or a trailing slash, which would make the kernel follow a link at the end.
std::filesystem::path clean_path(const std::filesystem::path& path);

}  // namespace hotgemm
