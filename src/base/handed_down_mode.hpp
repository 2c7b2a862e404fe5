#pragma once

#include <sys/types.h>

namespace hotgemm {

/// The mode of a new directory in an open one: 0700. If `trust_shared`, and others may write to the open directory, the
/// mode of that one, so that they may write to the new one too.
mode_t mode_handed_down(int directory_fd, bool trust_shared);
/// The mode of a new file in a directory with this mode: the same, but nobody may execute the file.
constexpr mode_t file_mode_of(mode_t directory_mode) { return directory_mode & 0666; }

/// Makes a directory with this mode, whatever the umask is. `parent_fd` may be AT_FDCWD. Returns 0 or the errno.
int make_directory(int parent_fd, const char* name, mode_t mode);

}  // namespace hotgemm
