#include "records/database_files.hpp"

#include "base/handed_down_mode.hpp"
#include "base/new_file.hpp"

#include <hotgemm/error.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <new>
#include <set>

namespace hotgemm {

namespace {

constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_CLOEXEC;
constexpr const char* kIsLink = "it is a symbolic link, and hotgemm follows none";
constexpr int kReadFlags =
    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;  // O_NONBLOCK: opening a FIFO must not wait for a writer

Error io_error(const std::string& attempt, const std::string& what) {
  return Error(ErrorCode::io_error, "cannot " + attempt + ": " + what);
}

Error io_error(const std::string& attempt) { return io_error(attempt, std::strerror(errno)); }

using Owners = std::function<bool(uid_t)>;

Owners this_user() {
  return [](uid_t owner) { return owner == ::geteuid(); };
}

/// The reason why an open file or directory cannot be trusted, or an empty string.
std::string distrust(int fd, const Owners& owners, bool trust_shared) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) return std::strerror(errno);
  if (trust_shared) return {};
  if (!owners(status.st_uid)) return "it belongs to user " + std::to_string(status.st_uid);
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) return "others may write to it";
  return {};
}

/// Reads every segment of an open directory that can be trusted. False if one was removed after it was listed.
bool read_listed(int directory_fd, const std::filesystem::path& path, const Owners& owners, bool trust_shared,
                 const Report& report, std::vector<DatabaseFile>& files) {
  bool is_whole = true;
  for (const std::string& name : segment_names(directory_fd)) {
    const std::filesystem::path file_path = path / name;
    const FileDescriptor fd(::openat(directory_fd, name.c_str(), kReadFlags));
    if (!fd) {
      if (errno == ENOENT) {
        is_whole = false;
        continue;
      }
      report(io_error("read " + file_path.string(), errno == ELOOP ? kIsLink : std::strerror(errno)).what());
      continue;
    }
    if (const std::string reason = distrust(fd.get(), owners, trust_shared); !reason.empty()) {
      report(file_path.string() + " is left out: " + reason);
      continue;
    }
    try {
      files.push_back(read_open_file(fd.get(), file_path));
    } catch (const Error& error) {
      report(error.what());
    }
  }
  return is_whole;
}

/// Adds every segment of an open directory that can be trusted. The records of a segment that prune has removed are in
/// another one, which may not have been listed. So all is read again then, a few times.
void read_directory(int directory_fd, const std::filesystem::path& path, const Owners& owners, bool trust_shared,
                    const Report& report, std::vector<DatabaseFile>& files) {
  std::set<std::string> told;
  const Report report_once = [&](const std::string& trouble) {
    if (told.insert(trouble).second) report(trouble);
  };
  std::vector<DatabaseFile> read;
  constexpr int kAttempts = 10;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    read.clear();
    if (read_listed(directory_fd, path, owners, trust_shared, report_once, read)) break;
  }
  std::ranges::move(read, std::back_inserter(files));
}

/// Makes the pages of a buffer at once: a page fault for each takes longer. Linux before 5.14 cannot: there the pages
/// are made one by one later.
void populate(char* data, std::size_t size) {
#ifdef MADV_POPULATE_WRITE
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t ahead = reinterpret_cast<std::uintptr_t>(data) % page;
  ::madvise(data - ahead, size + ahead, MADV_POPULATE_WRITE);
#endif
}

/// True if the directory is there, or is made now. False, with errno, if it cannot be made.
bool has_directory(int parent_fd, const char* name, mode_t mode) {
  const int error = make_directory(parent_fd, name, mode);
  return error == 0 || error == EEXIST || error == EISDIR;
}

void make_directories(const std::filesystem::path& path) {
  std::filesystem::path so_far;
  for (const std::filesystem::path& part : path) {
    so_far /= part;
    if (!has_directory(AT_FDCWD, so_far.c_str(), 0700)) throw io_error("create the directory " + so_far.string());
  }
}

}  // namespace

FileDescriptor open_records(const std::filesystem::path& layer, const char* kind, bool trust_shared, bool create,
                            const Report& report) {
  std::filesystem::path path = layer;
  FileDescriptor directory;
  mode_t mode = 0700;
  try {
    if (create) make_directories(layer);
    for (const char* part : {"", "v1", kind}) {
      if (*part != '\0') {
        path /= part;
        if (create && !has_directory(directory.get(), part, mode)) {
          throw io_error("create the directory " + path.string());
        }
      }
      FileDescriptor next(*part == '\0' ? ::open(path.c_str(), kDirectoryFlags | O_NOFOLLOW)
                                        : ::openat(directory.get(), part, kDirectoryFlags | O_NOFOLLOW));
      if (!next && errno == ENOENT) return {};
      if (!next) {
        const std::string reason = std::strerror(errno);
        std::error_code ignored;
        const bool is_link = std::filesystem::is_symlink(std::filesystem::symlink_status(path, ignored));
        throw io_error("open the records in " + path.string(), is_link ? kIsLink : reason);
      }
      const std::string reason = distrust(next.get(), this_user(), trust_shared);
      if (!reason.empty()) throw io_error("use the records in " + path.string(), reason);
      directory = std::move(next);
      if (*part == '\0') mode = mode_handed_down(directory.get(), trust_shared);
    }
  } catch (const Error& error) {
    report(error.what());
    return {};
  }
  return directory;
}

unsigned record_file_mode(int directory_fd, bool trust_shared) {
  return file_mode_of(mode_handed_down(directory_fd, trust_shared));
}

int open_new_records(int directory_fd, const std::string& name, bool trust_shared) {
  const unsigned mode = record_file_mode(directory_fd, trust_shared);
  constexpr int kFlags = O_RDWR | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  const int fd = ::openat(directory_fd, name.c_str(), kFlags, 0600);
  if (fd >= 0) ::fchmod(fd, mode);  // if it fails, the file has fewer rights, never more
  return fd;
}

std::vector<std::string> segment_names(int directory_fd) {
  std::vector<std::string> names;
  FileDescriptor fd(::openat(directory_fd, ".", kDirectoryFlags));  // with a position of its own
  DIR* directory = fd ? ::fdopendir(fd.get()) : nullptr;
  if (directory == nullptr) return names;
  fd.release();
  while (const dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name.ends_with(".jsonl") && name.front() != '.') names.emplace_back(name);
  }
  ::closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

std::vector<DatabaseFile> read_user_layer(const std::filesystem::path& layer, const char* kind, bool trust_shared,
                                          const Report& report) {
  std::vector<DatabaseFile> files;
  const FileDescriptor directory = open_records(layer, kind, trust_shared, /*create=*/false, report);
  if (!directory) return files;
  read_directory(directory.get(), layer / "v1" / kind, this_user(), trust_shared, report, files);
  return files;
}

std::vector<DatabaseFile> read_only_layer(const std::filesystem::path& layer, const LayerTrust& trust,
                                          const Report& report) {
  std::vector<DatabaseFile> files;
  const Owners owners = [&](uid_t owner) { return owner == 0 || owner == ::geteuid() || owner == trust.owner; };
  for (const std::filesystem::path& path : {layer, layer / "v1" / kTuningRecords}) {
    const FileDescriptor directory(::open(path.c_str(), kDirectoryFlags));
    if (!directory && errno == ENOENT) continue;
    if (!directory) {
      report(io_error("open the layer of records " + path.string()).what());
    } else if (const std::string reason = distrust(directory.get(), owners, trust.trust_shared); reason.empty()) {
      read_directory(directory.get(), path, owners, trust.trust_shared, report, files);
    } else if (!segment_names(directory.get()).empty()) {
      report(io_error("use the records in " + path.string(), reason).what());
    }
  }
  return files;
}

namespace {

std::vector<DatabaseFile> read_path(const std::filesystem::path& path) {
  const FileDescriptor fd(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) throw io_error("read " + path.string());
  std::vector<DatabaseFile> files;
  if (S_ISDIR(status.st_mode)) {
    files = read_only_layer(path, {.owner = {}, .trust_shared = true},
                            [](const std::string& trouble) { throw Error(ErrorCode::io_error, trouble); });
    if (files.empty()) throw io_error("read " + path.string(), "neither it nor its v1/db holds a .jsonl file");
  } else {
    files.push_back(read_open_file(fd.get(), path));
  }
  return files;
}

}  // namespace

std::vector<DatabaseFile> read_named(const std::filesystem::path& path) {
  try {
    return read_path(path);
  } catch (const Error& error) {
    throw Error(ErrorCode::invalid_argument, error.what());
  }
}

DatabaseFile read_open_file(int fd, std::filesystem::path path) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw io_error("read " + path.string());
  if (!S_ISREG(status.st_mode)) throw io_error("read " + path.string(), "it is not a regular file");
  const auto size = static_cast<std::size_t>(status.st_size);
  // make_unique would first fill the buffer with zeros.
  std::unique_ptr<char[]> data(new (std::nothrow) char[size]);
  if (!data) throw io_error("read " + path.string(), std::to_string(size) + " bytes do not fit into memory");
  DatabaseFile file{std::move(path), std::move(data), 0};
  constexpr std::size_t kPiece = std::size_t{256} << 10;  // the new pages of a piece, which are zero, stay in the cache
  while (file.size < size) {
    char* const end = file.data.get() + file.size;
    const std::size_t piece = std::min(kPiece, size - file.size);
    if (size >= kPiece) populate(end, piece);
    const ssize_t got = ::read(fd, end, piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw io_error("read " + file.path.string());
    if (got == 0) break;
    file.size += static_cast<std::size_t>(got);
  }
  return file;
}

std::string new_segment_name() {
  std::array<char, 65> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '\0';
  std::string name;
  for (const char c : std::string_view(host.data())) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += plain ? c : '-';
  }
  if (name.empty() || name.front() == '-') name.insert(0, "host");
  return name + "-" + std::to_string(::getpid()) + "-" + random_digits() + ".jsonl";
}

Segment Segment::create(const std::filesystem::path& layer, const char* kind, bool trust_shared) {
  const FileDescriptor directory =
      open_records(layer, kind, trust_shared, /*create=*/true,
                   [](const std::string& trouble) { throw Error(ErrorCode::io_error, trouble); });
  if (!directory) throw io_error("create a segment in " + layer.string(), "the directory has just been removed");
  for (int attempt = 0; attempt < 3; ++attempt) {
    std::string name = new_segment_name();
    // Open for reading too, because a shared lock on NFS needs that. It would fail, and prune would remove the segment.
    LockedDescriptor fd = LockedDescriptor::open([&] { return open_new_records(directory.get(), name, trust_shared); });
    if (!fd) throw io_error("create the segment " + name + " in " + layer.string());
    // On a file system without locks (some network file systems), lock_segment cannot lock either and so never removes
    // this file.
    struct stat status {};
    if (::flock(fd.get(), LOCK_SH) != 0 || (::fstat(fd.get(), &status) == 0 && status.st_nlink > 0)) {
      return {std::move(fd), std::move(name)};
    }
  }
  throw io_error("create a segment in " + layer.string(), "it was removed at once, three times");
}

void Segment::append(std::string_view line) {
  append_text(fd_.get(), "the segment " + name_, std::string(line) + '\n');
}

void append_text(int fd, const std::string& name, std::string_view text) {
  struct stat status {};
  if (::fstat(fd, &status) != 0) throw io_error("append to " + name);
  bool is_begun = false;
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const std::string what = written < 0 ? std::strerror(errno) : "nothing was written";
      // If truncating fails too, the last line has no checksum, and readers ignore it.
      const bool is_cut = !is_begun || ::ftruncate(fd, status.st_size) == 0;
      throw io_error("append to " + name, what + (is_cut ? "" : "; a part of it is left in the file"));
    }
    is_begun = true;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

Segment& own_segment(std::optional<Segment>& kept, const std::filesystem::path& layer, const char* kind,
                     bool trust_shared) {
  if (!kept || !kept->is_ours()) kept.emplace(Segment::create(layer, kind, trust_shared));
  return *kept;
}

std::optional<LockedSegment> lock_segment(int directory_fd, const std::string& name) {
  constexpr int kFlags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  LockedSegment segment{LockedDescriptor::open([&] { return ::openat(directory_fd, name.c_str(), kFlags); }), name};
  struct stat status {};
  if (!segment.fd || try_flock(segment.fd.get()) != LockAttempt::locked) return std::nullopt;
  // The file was removed between opening and locking: another process did that and keeps its records in another
  // segment.
  if (::fstat(segment.fd.get(), &status) != 0 || status.st_nlink == 0) return std::nullopt;
  return segment;
}

LockedDescriptor lock_for_replacing(const std::filesystem::path& file) {
  constexpr std::chrono::minutes kLongestWait{10};
  const std::filesystem::path directory = file.parent_path() / ".";
  LockedDescriptor fd = LockedDescriptor::open([&] { return ::open(directory.c_str(), kDirectoryFlags); });
  if (fd && lock_until(fd.get(), try_flock, deadline_after(kLongestWait)) == LockAttempt::busy) {
    throw io_error("write " + file.string(), "another process has locked its directory for ten minutes");
  }
  return fd;
}

void publish_lines(int directory_fd, const std::string& name, std::span<const std::string> lines,
                   std::optional<unsigned> mode) {
  NewFile file(directory_fd, name, mode);
  constexpr std::size_t kPieceBytes = std::size_t{1} << 20;
  std::string piece;
  for (const std::string& line : lines) {
    piece.append(line).append("\n");
    if (piece.size() < kPieceBytes) continue;
    file.write(piece);
    piece.clear();
  }
  file.write(piece);
  file.publish();
}

}  // namespace hotgemm
