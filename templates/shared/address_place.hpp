#pragma once

namespace hotgemm {

// A tensor map of all memory: dimensions 0 and 1 are those of a matrix, and the coordinates in dimensions 2 and 3 say
// where it begins. So one map serves matrices at any addresses, which the host need not know.

inline constexpr int kPlaceBytes = 16;   ///< from one coordinate of dimension 2 to the next
inline constexpr int kWindowBits = 28;   ///< 2 to this power: the bytes from one coordinate of dimension 3 to the next
inline constexpr int kAddressBits = 59;  ///< of the addresses that the map reaches: a coordinate has 31 bits
inline constexpr unsigned long long kFirstPlace = kPlaceBytes;  ///< where the map begins: no map begins at 0

/// The coordinates of an address.
struct AddressPlace {
  int chunk = 0;   ///< in dimension 2; negative for an address that is no multiple of kPlaceBytes
  int window = 0;  ///< in dimension 3

  constexpr bool is_valid() const { return chunk >= 0; }
};

constexpr AddressPlace place_of(unsigned long long address) {
  constexpr unsigned long long kWindow = 1ull << kWindowBits;
  const unsigned long long offset = address - kFirstPlace;
  const int chunk = static_cast<int>(offset % kWindow / kPlaceBytes);
  return {address % kPlaceBytes == 0 ? chunk : -1, static_cast<int>(offset / kWindow)};
}

}  // namespace hotgemm
