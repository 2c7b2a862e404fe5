#include "base/library_paths.hpp"

#include "base/environment.hpp"

#include <hotgemm/context.hpp>
#include <hotgemm/error.hpp>

#include <array>
#include <mutex>
#include <string_view>

namespace hotgemm {
namespace {

struct LibraryPath {
  std::string_view library;
  std::string_view variable;
  std::string path;
  bool is_taken = false;
};

struct LibraryPaths {
  std::mutex mutex;  // guards the member below
  std::array<LibraryPath, 4> all{{{"libcuda", "HOTGEMM_LIBCUDA", {}},
                                  {"libnvrtc", "HOTGEMM_LIBNVRTC", {}},
                                  {"libcublas", "HOTGEMM_LIBCUBLAS", {}},
                                  {"libcublasLt", "HOTGEMM_LIBCUBLASLT", {}}}};
};

/// One for the process, like the libraries themselves.
LibraryPaths& library_paths() {
  static auto* paths = new LibraryPaths();
  return *paths;
}

}  // namespace

std::string take_library_path(const char* variable) {
  LibraryPaths& paths = library_paths();
  const std::lock_guard lock(paths.mutex);
  for (LibraryPath& one : paths.all) {
    if (one.variable != variable) continue;
    one.is_taken = true;
    if (!one.path.empty()) return one.path;
  }
  return environment_variable(variable);
}

void set_library_path(std::string_view library, std::string_view path) {
  LibraryPaths& paths = library_paths();
  const std::lock_guard lock(paths.mutex);
  for (LibraryPath& one : paths.all) {
    if (one.library != library) continue;
    if (one.is_taken) {
      throw Error(ErrorCode::invalid_argument,
                  std::string(library) + " has been looked for already; set its path before the first use of hotgemm");
    }
    one.path = path;
    return;
  }
  throw Error(ErrorCode::invalid_argument, "there is no library \"" + std::string(library) +
                                               "\": expected libcuda, libnvrtc, libcublas or libcublasLt");
}

}  // namespace hotgemm
