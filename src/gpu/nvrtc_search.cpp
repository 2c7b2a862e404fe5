#include "gpu/nvrtc_search.hpp"

#include "base/library_paths.hpp"

#include <hotgemm/error.hpp>

#include <nvrtc.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

namespace hotgemm {
namespace {

namespace fs = std::filesystem;

constexpr const char* kHelp =
    "\nInstall NVRTC 12.9 or later: the CUDA toolkit; or, for programs in Python, `pip install nvidia-cuda-nvrtc` "
    "(CUDA 13) or `pip install 'nvidia-cuda-nvrtc-cu12>=12.9'`. Other programs find it in such a wheel if "
    "HOTGEMM_LIBNVRTC is its path, as in .../nvidia/cu13/lib/libnvrtc.so.13";

std::string text_of(int version) { return std::to_string(version / 100) + "." + std::to_string(version % 100); }

std::vector<std::string> split(const char* list) {
  std::vector<std::string> parts;
  std::istringstream stream(list != nullptr ? list : "");
  for (std::string part; std::getline(stream, part, ':');) {
    if (!part.empty() && part.front() == '/') parts.push_back(part);
  }
  return parts;
}

/// The numbers in a name such as cuda-13.0.
std::vector<int> numbers_in(const std::string& name) {
  std::vector<int> numbers;
  for (std::size_t at = 0; (at = name.find_first_of("0123456789", at)) != name.npos;) {
    int number = 0;
    const char* end = std::from_chars(name.data() + at, name.data() + name.size(), number).ptr;
    numbers.push_back(number);
    at = static_cast<std::size_t>(end - name.data());
  }
  return numbers;
}

/// The directories of other wheels than the one in which `library` lies: …/nvidia/<package>/lib.
std::vector<std::string> wheels_beside(const fs::path& library) {
  std::vector<std::string> directories;
  const fs::path packages = library.parent_path().parent_path().parent_path();
  if (packages.filename() != "nvidia") return directories;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(packages, error)) directories.push_back(item.path() / "lib");
  std::ranges::sort(directories);
  return directories;
}

class NvrtcSearch {
 public:
  explicit NvrtcSearch(const NvrtcPlaces& places) : places_(places) {}

  SharedLibrary run() {
    if (!places_.override_path.empty()) {
      attempt(places_.override_path);
    } else {
      for (const std::string& name : places_.names) attempt(name);
      attempt_in(places_.directories);
      attempt_in(beside_);
    }
    if (!found_) {
      throw Error(ErrorCode::no_compiler, "no NVRTC of version 12.9 or later was found; tried:" + failures_ + kHelp);
    }
    return *found_;
  }

 private:
  /// By value: an attempt may add to beside_.
  void attempt_in(std::vector<std::string> directories) {
    for (const std::string& name : places_.names) {
      for (const std::string& directory : directories) {
        std::error_code error;
        if (fs::exists(directory + "/" + name, error)) attempt(directory + "/" + name);
      }
    }
  }

  void attempt(const std::string& path) {
    if (found_ || !tried_.insert(path).second) return;
    try {
      const SharedLibrary library = SharedLibrary::open(path, {}, ErrorCode::no_compiler);
      tried_.insert(library.path());
      const int version = version_of(library);
      if (version >= kOldestNvrtc) {
        open_builtins_beside(library, version);
        found_ = library;
        return;
      }
      failures_ += "\n  " + library.path() +
                   (version == 0 ? " does not tell a version of NVRTC" : " is NVRTC " + text_of(version) + ", too old");
      for (std::string& directory : wheels_beside(library.path())) beside_.push_back(std::move(directory));
    } catch (const Error& error) {
      const std::string_view message = error.what();
      const std::size_t line = message.rfind('\n');
      failures_ += "\n" + std::string(line == message.npos ? message : message.substr(line + 1));
    }
  }

  /// NVRTC opens this library by its name while it compiles. The loader knows it then, wherever it lies: a wheel's
  /// directory is in none of its lists.
  static void open_builtins_beside(const SharedLibrary& library, int version) {
    const fs::path path = fs::path(library.path()).parent_path() / ("libnvrtc-builtins.so." + text_of(version));
    std::error_code error;
    if (!fs::exists(path, error)) return;  // where the loader looks, or NVRTC says what is missing
    try {
      SharedLibrary::open(path.string(), {}, ErrorCode::no_compiler);
    } catch (const Error&) {  // the same
    }
  }

  /// 0 if the library does not tell.
  static int version_of(const SharedLibrary& library) {
    const auto ask = reinterpret_cast<decltype(&::nvrtcVersion)>(library.find("nvrtcVersion"));
    int major = 0, minor = 0;
    if (ask == nullptr || ask(&major, &minor) != NVRTC_SUCCESS) return 0;
    return major * 100 + minor;
  }

  const NvrtcPlaces& places_;
  std::optional<SharedLibrary> found_;
  std::vector<std::string> beside_;
  std::set<std::string> tried_;
  std::string failures_;
};

}  // namespace

NvrtcPlaces NvrtcPlaces::of_process() {
  NvrtcPlaces places{take_library_path("HOTGEMM_LIBNVRTC"), {"libnvrtc.so.13", "libnvrtc.so.12"}, {}};
  places.directories = split(::secure_getenv("LD_LIBRARY_PATH"));
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"}) {
    const char* home = ::secure_getenv(name);
    if (home != nullptr && *home == '/') places.directories.push_back(std::string(home) + "/lib64");
  }
  for (std::string& directory : SharedLibrary::directories_of_build()) places.directories.push_back(directory);
  for (std::string& directory : toolkits_in("/usr/local")) places.directories.push_back(directory);
  for (const char* system : {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"}) {
    places.directories.emplace_back(system);
  }
  return places;
}

std::vector<std::string> toolkits_in(const fs::path& parent) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& item : fs::directory_iterator(parent, error)) {
    if (std::string name = item.path().filename(); name.starts_with("cuda-")) names.push_back(std::move(name));
  }
  std::ranges::sort(names, std::greater(), numbers_in);
  names.insert(names.begin(), "cuda");
  std::vector<std::string> directories;
  for (const std::string& name : names) directories.push_back(parent / name / "lib64");
  return directories;
}

SharedLibrary find_nvrtc(const NvrtcPlaces& places) { return NvrtcSearch(places).run(); }

}  // namespace hotgemm
