#include "command/version_text.hpp"

#include "command/build_commit.hpp"
#include "command/session.hpp"
#include "gpu/nvrtc.hpp"

#include <hotgemm/version.hpp>

#include <fmt/format.h>

#include <fstream>

namespace hotgemm::command {
namespace {

std::string compiler_line() {
  try {
    return fmt::format("{}, {}", Nvrtc::get().toolchain(), Nvrtc::get().path());
  } catch (const Error& error) {
    return "none: " + one_line(error.what());
  }
}

/// "580.65.06, " of the kernel module; nothing if it is not loaded.
std::string release_of_module() {
  std::ifstream file("/sys/module/nvidia/version");
  std::string release;
  return file >> release ? release + ", " : "";
}

std::string driver_line() {
  try {
    const Driver& driver = Driver::get();
    return fmt::format("{}CUDA {}, {}", release_of_module(), driver_version(driver), driver.path);
  } catch (const Error& error) {
    return "none: " + one_line(error.what());
  }
}

}  // namespace

std::string version_text() {
  return fmt::format("hotgemm {}\ncommit  {}\nNVRTC   {}\ndriver  {}", HOTGEMM_VERSION, build_commit(), compiler_line(),
                     driver_line());
}

}  // namespace hotgemm::command
