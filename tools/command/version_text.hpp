#pragma once

#include <string>

namespace hotgemm::command {

/// The text of --version: the version and the commit of this build, and the compiler and the driver that it finds.
std::string version_text();

}  // namespace hotgemm::command
