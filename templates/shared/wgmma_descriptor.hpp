#pragma once

namespace hotgemm {

inline constexpr int kWgmmaM = 64;
inline constexpr int kWgmmaKBytes = 32;  // bytes along k of one instruction, for every element type
inline constexpr int kWarpgroupThreads = 128;

/// The 64-bit descriptor of the place of an operand in shared memory, for wgmma.mma_async. `address` is a multiple of
/// 16; `swizzle_bytes` is 128, 64 or 32.
///
/// The operand consists of blocks of eight rows of `swizzle_bytes`; their 16-byte chunks are swizzled by address. For a
/// k-major operand, a row runs along k, and the blocks follow each other along m (or n), `stride_bytes` apart. The
/// instruction is one row deep, so that `leading_bytes` has no meaning. For another operand, a row runs along m (or n),
/// and the blocks follow each other along k, `stride_bytes` apart, and along m (or n), `leading_bytes` apart.
constexpr unsigned long long wgmma_descriptor(unsigned address, int leading_bytes, int stride_bytes,
                                              int swizzle_bytes) {
  const auto field = [](unsigned bytes) { return static_cast<unsigned long long>((bytes & 0x3ffffu) >> 4); };
  const unsigned long long mode = swizzle_bytes == 128 ? 1 : swizzle_bytes == 64 ? 2 : 3;
  return field(address) | field(static_cast<unsigned>(leading_bytes)) << 16 |
         field(static_cast<unsigned>(stride_bytes)) << 32 | mode << 62;
}

/// The place of byte `offset` of a box that a bulk copy swizzles. The box begins at a multiple of 1024.
constexpr int swizzled_offset(int offset, int swizzle_bytes) {
  return offset ^ ((offset >> 7 & (swizzle_bytes / 16 - 1)) << 4);
}

/// An operand's tile in shared memory, as bulk copies write it for wgmma: slabs of `rows` rows of `swizzle_bytes`; one
/// copy writes one slab. The rows of a tile run along k if it is k-major, else along m (or n).
///
///   k-major, 128 × 64 (m × k)                 otherwise, 128 × 64
///   one slab of 128 rows of 64 k              two slabs, each of 64 rows (k) of 64 m
///
/// The tile begins at a multiple of 1024 bytes.
struct WgmmaTile {
  int outer;          ///< extent along m (or n)
  int block_k;        ///< extent along k
  bool k_major;       ///< stored with k contiguous
  int swizzle_bytes;  ///< 128, 64 or 32
  int element_bytes;

  constexpr int rows() const { return k_major ? outer : block_k; }
  constexpr int slab_elements() const { return swizzle_bytes / element_bytes; }
  constexpr int slabs() const { return (k_major ? block_k : outer) / slab_elements(); }
  constexpr int slab_bytes() const { return rows() * swizzle_bytes; }
  constexpr int bytes() const { return slabs() * slab_bytes(); }

  /// The elements along k of one instruction (a k-step), and the number of k-steps of the tile.
  constexpr int step_elements() const { return kWgmmaKBytes / element_bytes; }
  constexpr int k_steps() const { return block_k / step_elements(); }

  /// True if blocks of eight rows, slabs and k-steps fit together.
  constexpr bool is_sound() const {
    if (swizzle_bytes != 128 && swizzle_bytes != 64 && swizzle_bytes != 32) return false;
    if (outer < 8 || outer % 8 != 0 || block_k < step_elements() || block_k % step_elements() != 0) return false;
    return (k_major ? block_k : outer) % slab_elements() == 0;
  }

  /// The descriptor for the first k-step of the tile at `address`.
  constexpr unsigned long long descriptor(unsigned address) const {
    return wgmma_descriptor(address, slab_bytes(), 8 * swizzle_bytes, swizzle_bytes);
  }
  /// The distance in bytes from the start of the tile to the operand that begins at row (or column) `first` and k-step
  /// `step`. `first` is a multiple of slab_elements(), or of 8 if the tile is k-major.
  constexpr int offset_bytes(int first, int step) const {
    const int k = step * step_elements();
    if (k_major) {
      return k / slab_elements() * slab_bytes() + first * swizzle_bytes + k % slab_elements() * element_bytes;
    }
    return first / slab_elements() * slab_bytes() + k * swizzle_bytes;
  }
};

/// The value to add to a descriptor in order to add `bytes`, a multiple of 16, to its address.
constexpr unsigned long long descriptor_step(int bytes) { return static_cast<unsigned long long>(bytes) >> 4; }

}  // namespace hotgemm
