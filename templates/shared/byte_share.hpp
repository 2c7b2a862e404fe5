#pragma once

namespace hotgemm {

/// A block's part of what the blocks of a grid divide among them.
struct ByteShare {
  unsigned first;
  unsigned count;  ///< 0 where others have all
};

/// In whole lines of 128 bytes, the last one as `bytes` end.
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
