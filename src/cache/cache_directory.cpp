#include "cache/cache_directory.hpp"

#include "base/handed_down_mode.hpp"

#include <hotgemm/error.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <memory>
#include <system_error>
#include <utility>

namespace hotgemm {
namespace {

constexpr mode_t kOthersWrite = S_IWGRP | S_IWOTH;
constexpr std::size_t kMaxLockFileBytes = 4096;  // lock files of the cache are empty

[[noreturn]] void throw_errno(const std::string& what) {
  throw std::system_error(errno, std::generic_category(), what);
}

template <typename Call>
auto retry(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// Throws errno, of an attempt to open the directory without following links.
[[noreturn]] void throw_unopened(int parent, const char* name, const std::filesystem::path& path) {
  const int error = errno;
  struct ::stat status {};
  if (::fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode)) {
    throw Error(ErrorCode::io_error, path.string() + " is a symbolic link, and hotgemm follows none");
  }
  errno = error;
  throw_errno("open the directory " + path.string());
}

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// Makes a directory and its parents. Only the error of the last part counts, and only if nothing is there: mkdir on a
// parent that exists can fail for many reasons.
int make_with_parents(const std::filesystem::path& path) {
  std::filesystem::path prefix;
  int error = 0;
  for (const auto& part : path) {
    prefix /= part;
    const int made = make_directory(AT_FDCWD, prefix.c_str(), 0700);
    // Below a directory that could not be made, mkdir only reports ENOENT. The earlier error is the cause.
    if (made != ENOENT || error == 0) error = made == EEXIST ? 0 : made;
  }
  return error;
}

std::string octal(mode_t mode) {
  char text[8];
  std::snprintf(text, sizeof text, "%04o", static_cast<unsigned>(mode & 07777U));
  return text;
}

void write_all(int fd, std::span<const std::uint8_t> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t written = retry([&] { return ::write(fd, bytes.data(), bytes.size()); });
    if (written < 0) throw_errno("write " + path);
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

}  // namespace

std::filesystem::path clean_path(const std::filesystem::path& path) {
  std::filesystem::path clean = std::filesystem::absolute(path).lexically_normal();
  return clean.has_filename() || !clean.has_relative_path() ? clean : clean.parent_path();
}

CacheDirectory::CacheDirectory(int fd, std::filesystem::path path, DirectoryRules rules)
    : fd_(fd), path_(std::move(path)), rules_(rules) {}

CacheDirectory::CacheDirectory(CacheDirectory&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      path_(std::move(other.path_)),
      rules_(other.rules_),
      directory_mode_(other.directory_mode_) {}

CacheDirectory& CacheDirectory::operator=(CacheDirectory&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  std::swap(rules_, other.rules_);
  std::swap(directory_mode_, other.directory_mode_);
  return *this;
}

CacheDirectory::~CacheDirectory() {
  if (fd_ >= 0) ::close(fd_);
}

void CacheDirectory::fail(const std::string& what, const std::string& name) const {
  throw_errno(what + " " + (path_ / name).string());
}

std::optional<CacheDirectory> CacheDirectory::open(const std::filesystem::path& path, DirectoryRules rules,
                                                   bool create) {
  const std::filesystem::path clean = clean_path(path);
  const int made = create ? make_with_parents(clean) : 0;
  const int fd = retry([&] { return ::open(clean.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); });
  if (fd < 0) {
    if (errno == ENOENT && !create) return std::nullopt;
    if (errno == ENOENT && made != 0) errno = made;
    throw_unopened(AT_FDCWD, clean.c_str(), clean);
  }
  CacheDirectory directory(fd, clean, rules);
  directory.check_directory();
  directory.directory_mode_ = mode_handed_down(fd, rules.trust_shared);
  return directory;
}

std::optional<CacheDirectory> CacheDirectory::subdirectory(const std::string& name, bool create) const {
  const int made = create ? make_directory(fd_, name.c_str(), directory_mode_) : 0;
  const int fd = retry([&] { return ::openat(fd_, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); });
  if (fd < 0) {
    if (errno == ENOENT && !create) return std::nullopt;
    if (errno == ENOENT && made != 0) errno = made;
    throw_unopened(fd_, name.c_str(), path_ / name);
  }
  CacheDirectory directory(fd, path_ / name, rules_);
  directory.directory_mode_ = directory_mode_;
  directory.check_directory();
  return directory;
}

void CacheDirectory::check_directory() const {
  struct ::stat status {};
  if (::fstat(fd_, &status) != 0) fail("fstat", "");
  if (rules_.trust_shared) return;
  const bool owner_is_trusted = status.st_uid == ::geteuid() || (!rules_.writable && status.st_uid == 0);
  if (!owner_is_trusted) {
    throw Error(ErrorCode::io_error, "the directory " + path_.string() + " belongs to user " +
                                         std::to_string(status.st_uid) + ", who is not trusted");
  }
  if ((status.st_mode & kOthersWrite) != 0) {
    throw Error(ErrorCode::io_error, "the directory " + path_.string() + " has mode " + octal(status.st_mode) +
                                         ", so that other users can write to it");
  }
}

void CacheDirectory::check_file(const struct ::stat& status, std::size_t max_bytes) const {
  const auto refuse = [](const std::string& why) { throw Error(ErrorCode::io_error, "it " + why); };
  if (!S_ISREG(status.st_mode)) refuse("is not a regular file");
  // A file without any name is fine: it was replaced or evicted after it was opened, and its bytes are still complete.
  if (status.st_nlink > 1) refuse("has more than one name");
  if (status.st_size < 0 || static_cast<std::uint64_t>(status.st_size) > max_bytes) refuse("is too large");
  if (rules_.trust_shared) return;
  if (status.st_uid != ::geteuid() && (rules_.writable || status.st_uid != 0)) {
    refuse("belongs to user " + std::to_string(status.st_uid) + ", who is not trusted");
  }
  if ((status.st_mode & kOthersWrite) != 0) refuse("has a mode that lets other users write to it");
}

std::vector<std::string> CacheDirectory::names() const {
  // Opens its own descriptor: a copy made by dup would share the position in the directory.
  Descriptor fd(retry([&] { return ::openat(fd_, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (fd.get() < 0) {
    if (errno == ENOENT) return {};  // the directory was removed while it was open
    fail("open the directory", "");
  }
  const auto close = [](DIR* stream) { ::closedir(stream); };
  const std::unique_ptr<DIR, decltype(close)> stream(::fdopendir(fd.get()), close);
  if (!stream) fail("fdopendir", "");
  fd.release();
  std::vector<std::string> names;
  errno = 0;
  while (const dirent* entry = ::readdir(stream.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
    errno = 0;
  }
  if (errno != 0 && errno != ENOENT) fail("readdir", "");
  return names;
}

std::optional<struct ::stat> CacheDirectory::status(const std::string& name) const {
  struct ::stat status {};
  if (::fstatat(fd_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return status;
  if (errno == ENOENT) return std::nullopt;
  fail("fstatat", name);
}

std::optional<CacheDirectory::File> CacheDirectory::read(const std::string& name, std::size_t max_bytes) const {
  const Descriptor fd(
      retry([&] { return ::openat(fd_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC); }));
  if (fd.get() < 0) {
    if (errno == ENOENT) return std::nullopt;
    if (errno == ELOOP) throw Error(ErrorCode::io_error, "it is a symbolic link");
    fail("open", name);
  }
  File file;
  if (::fstat(fd.get(), &file.status) != 0) fail("fstat", name);
  check_file(file.status, max_bytes);
  file.bytes.resize(static_cast<std::size_t>(file.status.st_size));
  std::size_t filled = 0;
  while (filled < file.bytes.size()) {
    const ssize_t got = retry([&] { return ::read(fd.get(), file.bytes.data() + filled, file.bytes.size() - filled); });
    if (got < 0) fail("read", name);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  file.bytes.resize(filled);
  return file;
}

void CacheDirectory::write_new(const std::string& name, std::span<const std::uint8_t> bytes, bool durable) const {
  const std::string path = (path_ / name).string();
  Descriptor fd(retry([&] {
    return ::openat(fd_, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                    file_mode_of(directory_mode_));
  }));
  if (fd.get() < 0) fail("create", name);
  try {
    if (::fchmod(fd.get(), file_mode_of(directory_mode_)) != 0) throw_errno("fchmod " + path);
    write_all(fd.get(), bytes, path);
    if (durable && ::fsync(fd.get()) != 0) throw_errno("fsync " + path);
    // A network file system may report a full disk only at close.
    if (::close(fd.release()) != 0 && errno != EINTR) throw_errno("close " + path);
  } catch (...) {
    ::unlinkat(fd_, name.c_str(), 0);
    throw;
  }
}

int CacheDirectory::open_lock_file(const std::string& name) const {
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  int opened =
      retry([&] { return ::openat(fd_, name.c_str(), kFlags | O_CREAT | O_EXCL, file_mode_of(directory_mode_)); });
  if (opened >= 0) {
    ::fchmod(opened, file_mode_of(directory_mode_));
  } else if (errno == EEXIST) {
    opened = retry([&] { return ::openat(fd_, name.c_str(), kFlags); });
  }
  Descriptor fd(opened);
  if (fd.get() < 0) fail("open the lock file", name);
  struct ::stat status {};
  if (::fstat(fd.get(), &status) != 0) fail("fstat", name);
  check_file(status, kMaxLockFileBytes);
  return fd.release();
}

void CacheDirectory::rename(const std::string& from, const CacheDirectory& to, const std::string& name) const {
  if (::renameat(fd_, from.c_str(), to.fd_, name.c_str()) != 0) {
    throw_errno("rename " + (path_ / from).string() + " to " + (to.path_ / name).string());
  }
}

bool CacheDirectory::remove(const std::string& name) const {
  if (::unlinkat(fd_, name.c_str(), 0) == 0) return true;
  if (errno == ENOENT) return false;
  fail("unlink", name);
}

void CacheDirectory::touch(const std::string& name) const noexcept {
  const timespec times[2] = {{0, UTIME_OMIT}, {0, UTIME_NOW}};
  ::utimensat(fd_, name.c_str(), times, AT_SYMLINK_NOFOLLOW);
}

void CacheDirectory::sync() const {
  if (::fsync(fd_) != 0) fail("fsync", "");
}

}  // namespace hotgemm
