#pragma once

#include <string>

namespace hotgemm {

/// The GNU build id of the loaded library at `path`, in hex. For a library without one: "size" and the size of its file
/// in bytes.
std::string build_id_of(const std::string& path);

}  // namespace hotgemm
