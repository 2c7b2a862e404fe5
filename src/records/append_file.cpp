#include "records/append_file.hpp"

#include <hotgemm/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace hotgemm {

namespace {

constexpr int kFlags = O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK;  // O_NONBLOCK: never wait for a FIFO

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
  throw Error(ErrorCode::io_error, "cannot append to " + path.string() + ": " + what);
}

}  // namespace

AppendFile AppendFile::in_layer(const std::filesystem::path& layer, const char* kind, const std::string& name,
                                bool trust_shared, bool afresh) {
  const std::filesystem::path path = layer / "v1" / kind / name;
  const FileDescriptor directory =
      open_records(layer, kind, trust_shared, /*create=*/true,
                   [](const std::string& trouble) { throw Error(ErrorCode::io_error, trouble); });
  if (!directory) fail(path, "its directory has just been removed");
  LockedDescriptor fd = LockedDescriptor::open([&] {
    const int made = open_new_records(directory.get(), name, trust_shared);
    return made >= 0 || errno != EEXIST ? made : ::openat(directory.get(), name.c_str(), kFlags | O_NOFOLLOW, 0600);
  });
  struct stat status {};
  if (!fd || ::fstat(fd.get(), &status) != 0) fail(path, std::strerror(errno));
  if (!S_ISREG(status.st_mode)) fail(path, "it is not a regular file");
  if (!trust_shared && status.st_uid != ::geteuid()) {
    fail(path, "it belongs to user " + std::to_string(status.st_uid));
  }
  return {std::move(fd), path, afresh};
}

AppendFile AppendFile::at(const std::filesystem::path& path, bool afresh) {
  LockedDescriptor fd = LockedDescriptor::open([&] { return ::open(path.c_str(), kFlags, 0666); });
  if (!fd) fail(path, std::strerror(errno));
  return {std::move(fd), path, afresh};
}

AppendFile::AppendFile(LockedDescriptor fd, std::filesystem::path path, bool afresh)
    : fd_(std::move(fd)), path_(std::move(path)) {
  // Some network file systems have no locks. There the lines of two writers end up in one file, each line whole.
  if (try_flock(fd_.get()) == LockAttempt::busy) fail(path_, "another process is appending to it");
  struct stat status {};
  if (::fstat(fd_.get(), &status) != 0) fail(path_, std::strerror(errno));
  ::fcntl(fd_.get(), F_SETFL, O_APPEND);  // clears O_NONBLOCK: writes may block
  if (!S_ISREG(status.st_mode)) return;   // for example a pipe, which has no earlier text to read
  if (afresh) {
    if (::ftruncate(fd_.get(), 0) != 0) fail(path_, std::strerror(errno));
    return;
  }
  before_ = read_open_file(fd_.get(), path_);
  if (!text().empty() && text().back() != '\n') append("\n");
}

}  // namespace hotgemm
