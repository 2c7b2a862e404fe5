#include "worker/parent_link.hpp"

#include <hotgemm/error.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <thread>

namespace hotgemm {
namespace {

[[noreturn]] void fail(const std::string& attempt) {
  throw Error(ErrorCode::io_error, attempt + ": " + std::strerror(errno));
}

/// Ends the process without destructors: a kernel that does not end may keep a thread inside the driver.
[[noreturn]] void leave() { ::_exit(ParentLink::kParentGone); }

void end_with_parent(int socket) {
  for (;;) {
    ::pollfd entry{socket, POLLRDHUP, 0};  // POLLIN is left out: waiting requests do not matter here
    const int ready = ::poll(&entry, 1, -1);
    if (ready > 0 || (ready < 0 && errno != EINTR)) leave();
  }
}

}  // namespace

ParentLink::ParentLink() {
  struct ::stat what {};
  if (::fstat(STDIN_FILENO, &what) != 0 || !S_ISSOCK(what.st_mode)) {
    throw Error(ErrorCode::invalid_argument,
                "a worker must be started by another hotgemm process: stdin is not a socket");
  }
  socket_ = FileDescriptor(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!socket_) fail("take over the socket to the parent process");
  const FileDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (!nothing || ::dup2(nothing.get(), STDIN_FILENO) < 0) fail("close stdin");
  if (::dup2(STDERR_FILENO, STDOUT_FILENO) < 0) fail("send stdout to stderr");
  std::thread(end_with_parent, socket_.get()).detach();
}

void ParentLink::read_all(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got == 0 || (got < 0 && errno != EINTR)) leave();
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

void ParentLink::write_all(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno != EINTR) leave();
    if (sent > 0) bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
}

}  // namespace hotgemm
