#pragma once

namespace hotgemm {

/// One block's part of bytes that the blocks of a grid divide among them.
struct ByteShare {
  unsigned first;
  unsigned count;  ///< 0 if other blocks have all bytes
};

/// Divides in whole lines of 128 bytes; the last line may be shorter.
constexpr ByteShare byte_share(unsigned bytes, unsigned blocks, unsigned block) {
  constexpr unsigned kLineBytes = 128;
  const unsigned lines = bytes / kLineBytes + (bytes % kLineBytes != 0);
  const unsigned share = (lines / blocks + (lines % blocks != 0)) * kLineBytes;
  const unsigned long long first = static_cast<unsigned long long>(block) * share;
  if (first >= bytes) return {0, 0};
  const unsigned left = bytes - static_cast<unsigned>(first);
  return {static_cast<unsigned>(first), left < share ? left : share};
}

}  // namespace hotgemm
