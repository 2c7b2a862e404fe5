#include "runtime/shipped_records.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/stat.h>

#include <system_error>

#ifndef HOTGEMM_INSTALLED_DATA_DIR
#define HOTGEMM_INSTALLED_DATA_DIR ""
#endif

namespace hotgemm {
namespace {

constexpr int kLevels = 3;  // bin/hotgemm and lib/libhotgemm.so are one below the prefix, lib/<triplet>/… two

}  // namespace

std::filesystem::path own_file() {
  Dl_info info{};
  link_map* map = nullptr;
  const void* here = reinterpret_cast<const void*>(&own_file);
  if (::dladdr1(here, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) == 0 || map == nullptr) return {};
  // The name of the program itself is empty; dli_fname would be the one that its caller gave it.
  const std::filesystem::path name = *map->l_name == '\0' ? "/proc/self/exe" : map->l_name;
  std::error_code error;
  const std::filesystem::path file = name.is_absolute() ? std::filesystem::canonical(name, error) : name;
  return error || !file.is_absolute() ? std::filesystem::path() : file;
}

ShippedRecords shipped_records() { return shipped_records_of(getauxval(AT_SECURE) == 0 ? own_file() : ""); }

ShippedRecords shipped_records_of(const std::filesystem::path& file) {
  ShippedRecords found;
  struct stat status {};
  if (!file.empty() && ::stat(file.c_str(), &status) == 0) found.owner = status.st_uid;
  const auto take = [&](const std::filesystem::path& directory) {
    std::error_code error;
    if (!std::filesystem::is_directory(directory, error)) return false;
    found.directory = directory;
    return true;
  };
  std::filesystem::path above = file;
  for (int level = 0; !file.empty() && level < kLevels; ++level) {
    above = above.parent_path();
    if (take(above / "share" / "hotgemm" / "cache")) return found;
  }
  take(HOTGEMM_INSTALLED_DATA_DIR "/cache");
  return found;
}

}  // namespace hotgemm
