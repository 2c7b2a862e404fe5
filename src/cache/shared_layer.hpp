#pragma once

#include <filesystem>

namespace hotgemm {

// A layer that one user writes and all may read, as in a container image.

/// Makes the directory and its missing parents, with mode 0755 whatever the umask is. Those that exist stay as they
/// are. Throws Error{io_error}.
void make_shared_layer(const std::filesystem::path& directory);

/// Lets every user read the layer, and its owner alone write to it: directories get mode 0755 and files 0644. Touches
/// the directory itself, what is below its v1, and records beside that. Links are left alone. Throws Error{io_error}.
void let_all_read(const std::filesystem::path& directory);

}  // namespace hotgemm
