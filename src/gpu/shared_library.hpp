#pragma once

#include <hotgemm/error.hpp>

#include <string>
#include <vector>

namespace hotgemm {

/// A library opened with dlopen(RTLD_LOCAL). Never closed: code of CUDA libraries may still run at exit.
class SharedLibrary {
 public:
  /// Opens `override_path` alone if it is not empty, else the first of `names` that the loader finds, in its own search
  /// path and then in the directories that the build recorded. Throws Error{`code`} that says what was tried.
  static SharedLibrary open(const std::string& override_path, const std::vector<std::string>& names, ErrorCode code);

  /// nullptr if the library has no such symbol.
  void* find(const char* symbol) const;
  /// Throws Error{no_driver} naming the symbol and the library.
  void* get(const char* symbol) const;
  /// The file that was loaded.
  const std::string& path() const { return path_; }

 private:
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* handle_;
  std::string path_;
};

}  // namespace hotgemm
