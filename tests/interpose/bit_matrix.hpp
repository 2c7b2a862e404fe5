#pragma once

#include "interpose/fixture.hpp"

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace hotgemm::interpose {

/// Matrices of bits in cuBLASLt's layout: column-major, the lowest bit of a byte first.
class BitMatrix {
 public:
  BitMatrix() = default;
  BitMatrix(std::int64_t rows, std::int64_t cols, std::int64_t batch)
      : rows_(rows), cols_(cols), batch_(batch), stride_(kLd * cols + 128) {
    at_ = static_cast<std::uint8_t*>(allocate_on_device(static_cast<std::size_t>(stride_ / 8 * batch)));
    std::fill_n(at_, stride_ / 8 * batch, kUntouched);
  }
  void fill(unsigned seed) {
    std::minstd_rand random(seed);
    std::generate_n(at_, stride_ / 8 * batch_, [&] { return static_cast<std::uint8_t>(random() >> 8); });
  }
  bool get(std::int64_t p, std::int64_t i, std::int64_t j) const {
    return (at_[(p * stride_ + j * kLd) / 8 + i / 8] >> (i % 8) & 1) != 0;
  }
  /// All bits as numbers, in the order of Product::elements.
  std::vector<float> bits() const {
    std::vector<float> all;
    for (std::int64_t p = 0; p < batch_; ++p) {
      for (std::int64_t j = 0; j < cols_; ++j) {
        for (std::int64_t i = 0; i < rows_; ++i) all.push_back(get(p, i, j) ? 1 : 0);
      }
    }
    return all;
  }
  /// True if no byte behind the bytes of a column has been written.
  bool has_untouched_gaps() const {
    for (std::int64_t at = 0; at < stride_ / 8 * batch_; ++at) {
      const std::int64_t in_product = at % (stride_ / 8);
      const bool is_of_column = in_product / (kLd / 8) < cols_ && in_product % (kLd / 8) < (rows_ + 7) / 8;
      if (!is_of_column && at_[at] != kUntouched) return false;
    }
    return true;
  }
  std::uint8_t* at() const { return at_; }
  std::int64_t stride() const { return stride_; }
  static constexpr std::int64_t kLd = 256;

 private:
  static constexpr std::uint8_t kUntouched = 0xa5;
  std::int64_t rows_ = 0, cols_ = 0, batch_ = 0, stride_ = 0;
  std::uint8_t* at_ = nullptr;
};

}  // namespace hotgemm::interpose
