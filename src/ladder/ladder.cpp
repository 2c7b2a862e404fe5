#include "ladder/ladder.hpp"

#include "config/launch_shape.hpp"
#include "ladder/rung_name.hpp"
#include "ladder/rung_table.hpp"

#include <algorithm>
#include <iterator>
#include <string>

namespace hotgemm {

bool Rung::is_called(std::string_view wanted) const {
  const std::string known = rung_name(wanted);
  return name == known || label == known;
}

std::span<const Rung> rungs() { return kRungs; }

std::vector<Rung> find_rungs(std::string_view name) {
  std::vector<Rung> found;
  std::ranges::copy_if(kRungs, std::back_inserter(found), [&](const Rung& rung) { return rung.is_called(name); });
  return found;
}

std::int64_t swizzle_stride(std::int64_t n) {
  constexpr std::int64_t kFewest = 256;
  const std::int64_t stride = n < 4096 ? n / 2 : n / 4;
  return stride < kFewest ? n : stride;
}

LaunchConfig ladder_launch(const Rung& rung, std::int64_t n) {
  return strip_launch(rung, rung.block_swizzle ? swizzle_stride(n) : n);
}

LaunchConfig strip_launch(const Rung& rung, std::int64_t columns) {
  const std::int64_t tile = rung.config ? launch_shape(*rung.config, rung.traits()).tile_n : 1;
  return {.raster_width = static_cast<int>(std::clamp<std::int64_t>((columns + tile - 1) / tile, 1, 4096)),
          .raster_along_n = true};
}

}  // namespace hotgemm
