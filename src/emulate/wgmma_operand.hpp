#pragma once

#include <cstdint>

namespace hotgemm::emulate {

/// The layout in shared memory of a wgmma operand, given by a matrix descriptor of the PTX ISA. It is written here
/// after the ISA, not taken from templates/shared.
class WgmmaOperand {
 public:
  static constexpr int kKBytes = 32;  ///< of an instruction, along k
  static constexpr int kChunkBytes = 16;

  WgmmaOperand(std::uint64_t descriptor, bool is_k_major, int element_bytes)
      : start_(field(descriptor, 0)),
        leading_(field(descriptor, 16)),
        stride_(field(descriptor, 32)),
        base_offset_(static_cast<std::uint32_t>(descriptor >> 49 & 7)),
        span_(kSpans[descriptor >> 62]),
        bytes_(static_cast<std::uint32_t>(element_bytes)),
        is_k_major_(is_k_major) {}

  std::uint32_t base_offset() const { return base_offset_; }
  bool is_k_major() const { return is_k_major_; }
  std::uint32_t depth() const { return kKBytes / bytes_; }  ///< k of one instruction
  std::uint32_t chunk_elements() const { return kChunkBytes / bytes_; }

  /// The address of a chunk of adjacent elements. If the operand is k-major, they lie in row `outer` (of m or n), from
  /// depth `k` on. Otherwise they lie at depth `k`, from row `outer` on. The index along which they run must be a
  /// multiple of chunk_elements().
  std::uint32_t chunk(std::uint32_t outer, std::uint32_t k) const {
    return swizzled(is_k_major_ ? k_major(outer, k) : outer_major(outer, k));
  }

 private:
  static constexpr std::uint32_t kSpans[] = {16, 128, 64, 32};

  static std::uint32_t field(std::uint64_t descriptor, int bit) {
    return static_cast<std::uint32_t>(descriptor >> bit & 0x3fff) << 4;
  }
  /// Groups of eight rows, with one span per row; the next group is `stride` bytes further. Without swizzle a span
  /// holds half of the depth, and the other half is `leading` bytes further.
  std::uint32_t k_major(std::uint32_t outer, std::uint32_t k) const {
    const std::uint32_t along_k = span_ == 16 ? k / chunk_elements() * leading_ : k * bytes_;
    return start_ + outer / 8 * stride_ + outer % 8 * span_ + along_k;
  }
  /// Groups of eight depths, with one span per depth. With swizzle, the next depths are `stride` bytes further and the
  /// next rows `leading` bytes. Without swizzle it is the reverse.
  std::uint32_t outer_major(std::uint32_t outer, std::uint32_t k) const {
    const std::uint32_t more_rows = span_ == 16 ? stride_ : leading_, more_depth = span_ == 16 ? leading_ : stride_;
    return start_ + outer * bytes_ / span_ * more_rows + outer * bytes_ % span_ + k / 8 * more_depth + k % 8 * span_;
  }
  /// XORs address bits 4 to 6 with bits 7 to 9, as many of them as the span has.
  std::uint32_t swizzled(std::uint32_t address) const { return address ^ (address >> 7 & (span_ / 16 - 1)) << 4; }

  std::uint32_t start_, leading_, stride_, base_offset_, span_, bytes_;
  bool is_k_major_;
};

}  // namespace hotgemm::emulate
