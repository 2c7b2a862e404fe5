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

/// Conditions on the owner and mode of a directory before it is used.
struct DirectoryRules {
  bool writable = false;      ///< the effective user must own it; if false, root may own it too
  bool trust_shared = false;  ///< accept any owner, and a mode that lets others write
};

/// An open directory whose owner and mode have been checked, and operations on the files in it.
///
/// All paths are relative to the open descriptor, and no symbolic link is followed: another user who renames
/// directories cannot redirect an operation. Functions throw std::system_error with the path when the system refuses,
/// and Error{io_error} when a rule of this class refuses. For a file the latter message has the form "it is …", without
/// the path. Const members are safe to call from several threads.
class CacheDirectory {
 public:
  struct File {
    std::vector<std::uint8_t> bytes;
    struct ::stat status {};
  };

  /// Opens an absolute path; nullopt when nothing is there. With `create`, makes the directory and its missing parents
  /// with mode 0700, whatever the umask is. Existing directories are never changed.
  static std::optional<CacheDirectory> open(const std::filesystem::path& path, DirectoryRules rules, bool create);

  CacheDirectory(CacheDirectory&& other) noexcept;
  CacheDirectory& operator=(CacheDirectory&& other) noexcept;
  CacheDirectory(const CacheDirectory&) = delete;
  CacheDirectory& operator=(const CacheDirectory&) = delete;
  ~CacheDirectory();

  const std::filesystem::path& path() const { return path_; }

  std::optional<CacheDirectory> subdirectory(const std::string& name, bool create) const;
  /// The names in the directory, without "." and "..", in no order.
  std::vector<std::string> names() const;
  /// The status of `name` itself, even if it is a link; nullopt when nothing is there.
  std::optional<struct ::stat> status(const std::string& name) const;

  /// Reads a whole regular file; nullopt when nothing is there. The file must have at most `max_bytes`, one name, and a
  /// trusted owner and mode. Never blocks on a FIFO.
  std::optional<File> read(const std::string& name, std::size_t max_bytes) const;
  /// Makes a file that did not exist, with mode 0600 whatever the umask is. On failure no file is left.
  void write_new(const std::string& name, std::span<const std::uint8_t> bytes, bool durable) const;
  /// Opens a file for locking, and makes it when it is absent. Never truncates. The caller closes the descriptor.
  int open_lock_file(const std::string& name) const;
  void rename(const std::string& from, const CacheDirectory& to, const std::string& name) const;
  /// Removes a file; false when it is already gone.
  bool remove(const std::string& name) const;
  /// Sets the modification time to now. Errors are ignored.
  void touch(const std::string& name) const noexcept;
  /// Syncs the directory, so that renames in it survive a power cut.
  void sync() const;

 private:
  CacheDirectory(int fd, std::filesystem::path path, DirectoryRules rules);
  void check_directory() const;
  void check_file(const struct ::stat& status, std::size_t max_bytes) const;
  [[noreturn]] void fail(const std::string& what, const std::string& name) const;

  int fd_ = -1;
  std::filesystem::path path_;
  DirectoryRules rules_;
  // Directories get 0700 and files 0600. In a directory that is shared on purpose, others get the rights that the
  // root's mode gives them.
  mode_t directory_mode_ = 0700;
};

/// An absolute path without "." and without a trailing slash. A trailing slash would make the kernel follow a link at
/// the end.
std::filesystem::path clean_path(const std::filesystem::path& path);

}  // namespace hotgemm
