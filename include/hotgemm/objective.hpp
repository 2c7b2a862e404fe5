#pragma once

#include <string_view>

namespace hotgemm {

/// The quantity that tuning makes small.
enum class Objective {
  speed,   ///< the time of a launch
  energy,  ///< the joules of a launch
};
/// "speed", "energy"; empty for a number that is no enumerator.
constexpr std::string_view to_string(Objective objective) {
  switch (objective) {
    case Objective::speed: return "speed";
    case Objective::energy: return "energy";
  }
  return {};
}

}  // namespace hotgemm
