#pragma once

#include "config/function_source.hpp"

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

struct TemplateFile {
  std::string path;  ///< as in an #include of a rendered unit: "mma.cuh", "shared/swizzle.hpp"
  std::string text;
};

/// The template files that kernels are compiled from: the files embedded in the library, or the files of a directory.
/// It also has the functions of epilogues that were added, which are sources of kernels too. Thread-safe.
class TemplateBundle {
 public:
  static TemplateBundle embedded();
  /// Throws Error{io_error} if `directory` or a file in it cannot be read, or if it holds no templates.
  static TemplateBundle from_directory(const std::string& directory);
  /// A bundle with the files() and the origin() of another bundle.
  static TemplateBundle from_files(std::string origin, std::vector<TemplateFile> files);
  /// Calls from_directory(HOTGEMM_TEMPLATE_DIR) if that variable is set, else embedded().
  static TemplateBundle from_environment();

  const std::vector<TemplateFile>& files() const;
  /// The origin of the files: a directory, or "embedded".
  const std::string& origin() const { return origin_; }

  /// SHA-256, 64 hex digits, over `entry` and all files that it includes, directly or indirectly: all bytes that can
  /// change a unit that includes `entry`. Throws Error{io_error} that names a missing file, and Error{invalid_argument}
  /// for an #include that includes_of cannot follow.
  const std::string& digest(std::string_view entry) const;

  /// Adds a function that kernels may have from now on, and stays. Adding it again does nothing. Throws
  /// Error{invalid_argument} for another source with the same number.
  void add(FunctionSource function);
  /// The source of a function. Throws Error{invalid_argument} if it was not added.
  const FunctionSource& source_of(const EpilogueFunction& function) const;

 private:
  TemplateBundle(std::string origin, std::vector<TemplateFile> files);

  /// A program with a warm cache needs neither copies nor hashes, so they are made on first use. The digests of
  /// embedded entries are made at build.
  struct Lazy {
    bool is_embedded = false;
    std::once_flag copying;
    std::vector<TemplateFile> files;  // sorted by path
    std::mutex hashing;
    std::map<std::string, std::string, std::less<>> digests;  // by entry
    std::mutex adding;
    std::map<std::uint64_t, FunctionSource> functions;  // by number
  };

  std::string origin_;
  std::shared_ptr<Lazy> lazy_ = std::make_shared<Lazy>();
};

}  // namespace hotgemm
