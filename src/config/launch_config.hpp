#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace hotgemm {

inline constexpr int kMostSplits = 4096;

/// The copy that a launch makes of an operand in workspace, which the kernel then reads.
enum class Repack : unsigned char {
  none,
  aligned,    ///< with rows at multiples of 16 bytes
  transposed  ///< likewise, and the transpose of what is stored
};

/// The parameters of a launch, which do not change the cubin.
struct LaunchConfig {
  int raster_width = 8;         ///< tiles per raster group (templates/shared/tile_order.hpp)
  bool raster_along_n = false;  ///< groups of tile columns instead of rows
  bool programmatic = false;    ///< launched before the preceding work in the stream has ended
  Repack repack_a = Repack::none;
  Repack repack_b = Repack::none;
  int splits = 1;  ///< parts of k that different blocks sum
  friend bool operator==(const LaunchConfig&, const LaunchConfig&) = default;
};

/// The name, such as "r8m", "r4n" or "r8mp_xab_s4": the width, the side, and "p" for a programmatic launch; then, if
/// they differ from their defaults, "x" with the operands that are repacked, each with "t" if it is transposed, and "s"
/// with the number of parts of k.
std::string to_string(const LaunchConfig& launch);
std::optional<LaunchConfig> parse_launch(std::string_view text);

}  // namespace hotgemm
