#include "gpu/shared_library.hpp"

#include "base/exit_handlers.hpp"
#include "base/fork_guard.hpp"

#include <dlfcn.h>
#include <link.h>

#include <sstream>

#ifndef HOTGEMM_DEFAULT_LIB_DIRS
#define HOTGEMM_DEFAULT_LIB_DIRS ""
#endif

namespace hotgemm {
namespace {

std::string path_of(void* handle, const std::string& fallback) {
  link_map* map = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr && map->l_name[0] != '\0') return map->l_name;
  return fallback;
}

}  // namespace

std::vector<std::string> SharedLibrary::directories_of_build() {
  std::vector<std::string> directories;
  std::istringstream stream(HOTGEMM_DEFAULT_LIB_DIRS);
  for (std::string directory; std::getline(stream, directory, ':');) {
    if (!directory.empty()) directories.push_back(directory);
  }
  return directories;
}

SharedLibrary SharedLibrary::open(const std::string& override_path, const std::vector<std::string>& names,
                                  ErrorCode code) {
  std::vector<std::string> attempts;
  if (!override_path.empty()) {
    attempts = {override_path};
  } else {
    attempts = names;
    for (const std::string& directory : directories_of_build()) {
      for (const std::string& name : names) attempts.push_back(directory + "/" + name);
    }
  }
  std::string failures;
  const ForkDelay delay;
  for (const std::string& attempt : attempts) {
    if (void* handle = dlopen(attempt.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      renew_exit_handlers();
      return SharedLibrary(handle, path_of(handle, attempt));
    }
    const char* reason = dlerror();
    failures += "\n  " + std::string(reason != nullptr ? reason : attempt.c_str());
  }
  throw Error(code, "cannot load " + (override_path.empty() ? names.front() : override_path) + "; tried:" + failures);
}

void* SharedLibrary::find(const char* symbol) const { return dlsym(handle_, symbol); }

void* SharedLibrary::get(const char* symbol) const {
  if (void* address = find(symbol)) return address;
  throw Error(ErrorCode::no_driver, path_ + " has no function " + symbol);
}

}  // namespace hotgemm
