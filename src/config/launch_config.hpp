#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hotgemm {

inline constexpr int kMostSplits = 4096;

/// The parameters of a launch, which do not change the cubin.
struct LaunchConfig {
  int raster_width = 8;         ///< tiles per raster group (templates/shared/tile_order.hpp)
  bool raster_along_n = false;  ///< groups of tile columns instead of rows
  bool programmatic = false;    ///< launched before the preceding work in the stream has ended
  bool repack_a = false;        ///< A is copied into aligned rows of workspace first, and the kernel reads the copy
  bool repack_b = false;        ///< B, likewise
  int splits = 1;               ///< parts of k that different blocks sum
  friend bool operator==(const LaunchConfig&, const LaunchConfig&) = default;
};

/// The name, such as "r8m", "r4n" or "r8mp_xab_s4": the width, the side, and "p" for a programmatic launch; then, if
/// they differ from their defaults, "x" with the operands that are repacked and "s" with the number of parts of k.
std::string to_string(const LaunchConfig& launch);
std::optional<LaunchConfig> parse_launch(std::string_view text);

}  // namespace hotgemm
