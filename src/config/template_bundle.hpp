#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

struct TemplateFile {
  std::string path;  ///< as an #include in a rendered unit names it: "mma.cuh", "shared/swizzle.hpp"
  std::string text;
};

/// The template files that kernels are compiled from: those embedded in the library, or those of a directory.
/// Immutable; thread-safe.
class TemplateBundle {
 public:
  static TemplateBundle embedded();
  /// Throws Error{io_error} if `directory` or a file in it cannot be read, or if it holds no templates.
  static TemplateBundle from_directory(const std::string& directory);
  /// Those that another bundle's files() and origin() are.
  static TemplateBundle from_files(std::string origin, std::vector<TemplateFile> files);
  /// from_directory(HOTGEMM_TEMPLATE_DIR) if that is set, else embedded().
  static TemplateBundle from_environment();

  const std::vector<TemplateFile>& files() const { return files_; }
  /// Where the files come from: a directory, or "embedded".
  const std::string& origin() const { return origin_; }

  /// SHA-256, 64 hex digits, over `entry` and all files that it includes, directly or not: the bytes that can change a
  /// unit that includes `entry`. Throws Error{io_error} naming a file that is missing.
  const std::string& digest(std::string_view entry) const;

 private:
  TemplateBundle(std::string origin, std::vector<TemplateFile> files);

  /// Hashing takes longer than anything else at start-up, so an entry is hashed when it is first asked for.
  struct Digests {
    std::mutex mutex;
    std::map<std::string, std::string, std::less<>> by_entry;
  };

  std::string origin_;
  std::vector<TemplateFile> files_;  // sorted by path
  std::shared_ptr<Digests> digests_ = std::make_shared<Digests>();
};

}  // namespace hotgemm
