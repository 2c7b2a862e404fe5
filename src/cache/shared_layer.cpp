#include "cache/shared_layer.hpp"

#include <hotgemm/error.hpp>

#include <sys/stat.h>

#include <cerrno>
#include <string>
#include <system_error>

namespace hotgemm {
namespace {

namespace fs = std::filesystem;

constexpr mode_t kDirectoryMode = 0755;
constexpr mode_t kFileMode = 0644;

void set_mode(const fs::path& path, mode_t mode) {
  if (::chmod(path.c_str(), mode) == 0 || errno == ENOENT) return;
  throw std::system_error(errno, std::generic_category(), "set the mode of " + path.string());
}

void let_all_read_entry(const fs::directory_entry& entry) {
  if (entry.is_symlink()) return;
  if (entry.is_directory()) set_mode(entry.path(), kDirectoryMode);
  if (entry.is_regular_file()) set_mode(entry.path(), kFileMode);
}

/// Throws what the system refuses as Error.
template <class Work>
void on_layer(const fs::path& directory, const Work& work) {
  try {
    work();
  } catch (const std::system_error& error) {
    throw Error(ErrorCode::io_error, "the layer " + directory.string() + ": " + error.what());
  }
}

}  // namespace

void make_shared_layer(const fs::path& directory) {
  on_layer(directory, [&] {
    fs::path made;
    for (const fs::path& part : directory) {
      made /= part;
      if (fs::create_directory(made)) set_mode(made, kDirectoryMode);
    }
  });
}

void let_all_read(const fs::path& directory) {
  on_layer(directory, [&] {
    set_mode(directory, kDirectoryMode);
    for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
      if (entry.path().extension() == ".jsonl" || entry.path().filename() == "v1") let_all_read_entry(entry);
    }
    const fs::path files = directory / "v1";
    if (!fs::is_directory(fs::symlink_status(files))) return;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(files)) let_all_read_entry(entry);
  });
}

}  // namespace hotgemm
