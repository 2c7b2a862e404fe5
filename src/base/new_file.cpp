#include "base/new_file.hpp"

#include <hotgemm/error.hpp>

#include <fcntl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace hotgemm {

std::string random_digits() {
  std::uint64_t random = 0;
  if (::getrandom(&random, sizeof random, 0) != static_cast<ssize_t>(sizeof random)) {
    throw Error(ErrorCode::io_error, std::string("name a new file: ") + std::strerror(errno));
  }
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[(random >> shift) & 15u];
  return digits;
}

NewFile::NewFile(int directory_fd, const std::string& name, std::optional<unsigned> mode)
    : directory_fd_(directory_fd),
      name_(name),
      temporary_(name + "." + std::to_string(::getpid()) + "-" + random_digits() + ".tmp"),
      fd_(::openat(directory_fd, temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                   mode.value_or(0666))) {
  if (!fd_) fail();
  if (mode) ::fchmod(fd_.get(), *mode);  // if it fails, the file may have fewer rights, never more
}

NewFile::~NewFile() {
  if (fd_) ::unlinkat(directory_fd_, temporary_.c_str(), 0);
}

void NewFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
    if (written == 0 || (written < 0 && errno != EINTR)) fail();
  }
}

void NewFile::publish() {
  if (::fsync(fd_.get()) != 0) fail();
  if (::renameat(directory_fd_, temporary_.c_str(), directory_fd_, name_.c_str()) != 0) fail();
  fd_ = FileDescriptor();
}

void NewFile::fail() const { throw Error(ErrorCode::io_error, "write " + name_ + ": " + std::strerror(errno)); }

}  // namespace hotgemm
