#pragma once

#include "shared/address_place.hpp"
#include "shared/gemm_types.hpp"
#include "shared/ragged_map.hpp"
#include "standin/encoded_map.hpp"

#include <cstdint>

namespace hotgemm::standin {

/// The matrices of a batch: their number, and the elements from one to the next. A single matrix has no dimension for
/// them. One whose rows groups divide has two more (shared/ragged_map.hpp), and so have matrices at any addresses
/// (shared/address_place.hpp).
struct Stack {
  std::uint64_t count = 1;
  long long stride = 0;
  unsigned rank = 2;
  bool is_anywhere = false;

  /// True if `map` has these dimensions, behind that of columns. A matrix has `rows` rows.
  bool has_dimensions(const EncodedMap& map, int rows, DType element) const {
    if (is_anywhere) {
      constexpr std::uint64_t kWindow = std::uint64_t{1} << kWindowBits;
      return map.sizes[1] == static_cast<unsigned>(rows) && map.address == kFirstPlace &&
             map.strides[1] == kPlaceBytes && map.strides[2] == kWindow && map.sizes[2] == kWindow / kPlaceBytes &&
             map.sizes[3] >= std::uint64_t{1} << 29;
    }
    if (rank == 4) {
      return map.sizes[1] == kRaggedRows && map.sizes[2] == static_cast<unsigned>(rows) + 1 &&
             map.sizes[3] == kRaggedRows + 1 && map.strides[1] == map.strides[0] &&
             map.strides[2] == kRaggedBytes - map.strides[0];
    }
    if (map.sizes[1] != static_cast<unsigned>(rows)) return false;
    if (rank == 2) return true;
    if (stride == 0) return map.sizes[2] == 1;  // all products share it
    return map.sizes[2] == count &&
           map.strides[1] == static_cast<std::uint64_t>(stride) * static_cast<std::uint64_t>(size_bytes(element));
  }
};

}  // namespace hotgemm::standin
