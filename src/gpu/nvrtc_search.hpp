#pragma once

#include "gpu/shared_library.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace hotgemm {

/// The oldest version that works, as major * 100 + minor: the first one with --no-cache.
inline constexpr int kOldestNvrtc = 12'09;

/// The places where NVRTC may be.
struct NvrtcPlaces {
  std::string override_path;             ///< the only file that is tried, unless it is empty
  std::vector<std::string> names;        ///< that the loader resolves, the preferred one first
  std::vector<std::string> directories;  ///< that are searched next for the same names

  /// HOTGEMM_LIBNVRTC; libnvrtc.so.13 and .12; LD_LIBRARY_PATH, CUDA_HOME, CUDA_PATH, the usual places of CUDA
  /// toolkits, and the directories recorded at build time. In set-id processes no variable counts.
  static NvrtcPlaces of_process();
};

/// The library directories of the toolkits in `parent`: the one without a version, then the newest first.
std::vector<std::string> toolkits_in(const std::filesystem::path& parent);

/// Opens the first NVRTC that is new enough. The loader answers a name with a library of that name that the process has
/// loaded, however old it is, as one of PyTorch; the search then goes on in the directories, and in those beside that
/// library, as wheels lie beside each other. Throws Error{no_compiler}. Its message names the libraries that were
/// tried, the versions that were too old, and the package to install.
SharedLibrary find_nvrtc(const NvrtcPlaces& places);

}  // namespace hotgemm
