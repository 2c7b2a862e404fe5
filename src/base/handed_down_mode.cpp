#include "base/handed_down_mode.hpp"

#include <sys/stat.h>

#include <cerrno>

namespace hotgemm {

mode_t mode_handed_down(int directory_fd, bool trust_shared) {
  struct stat status {};
  const bool is_shared =
      trust_shared && ::fstat(directory_fd, &status) == 0 && (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  return is_shared ? status.st_mode & 02777 : 0700;  // with the bit by which new directories get the group
}

int make_directory(int parent_fd, const char* name, mode_t mode) {
  if (::mkdirat(parent_fd, name, mode) != 0) return errno;
  return ::fchmodat(parent_fd, name, mode, 0) == 0 ? 0 : errno;
}

}  // namespace hotgemm
