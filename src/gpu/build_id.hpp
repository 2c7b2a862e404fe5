#pragma once

#include <string>

namespace hotgemm {

/// The GNU build id of the loaded library at `path`, in hex; of one without, "size" and its file's size in bytes.
std::string build_id_of(const std::string& path);

}  // namespace hotgemm
