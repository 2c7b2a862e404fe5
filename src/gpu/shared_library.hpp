#pragma once

#include <hotgemm/error.hpp>

#include <string>
#include <vector>

namespace hotgemm {

/// A library opened with dlopen(RTLD_LOCAL). Never closed: code of CUDA libraries may still run at exit.
class SharedLibrary {
 public:
  /// Opens only `override_path` if it is not empty. Else opens the first of `names` that the loader finds, in its own
  /// search path and then in the directories recorded at build time. Throws Error{`code`} that lists the attempts.
  static SharedLibrary open(const std::string& override_path, const std::vector<std::string>& names, ErrorCode code);

  /// The directories recorded at build time.
  static std::vector<std::string> directories_of_build();

  /// nullptr if the library has no such symbol.
  void* find(const char* symbol) const;
  /// The address of `symbol`. Throws Error{no_driver} that names the symbol and the library.
  void* get(const char* symbol) const;
  /// The path of the loaded file.
  const std::string& path() const { return path_; }

 private:
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* handle_;
  std::string path_;
};

}  // namespace hotgemm
