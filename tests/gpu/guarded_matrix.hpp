#pragma once

#include "standin/element.hpp"

#include "gpu/device_buffer.hpp"
#include "gpu/driver.hpp"

#include <hotgemm/types.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

namespace hotgemm {

using Bytes = std::vector<std::uint8_t>;

/// A row-major matrix in device memory between two guard zones, and its image on the host.
///
/// Memory layout: 64 KiB, `offset` elements, rows of `ld` elements, 64 KiB. All bytes outside of the elements,
/// including the padding of rows, are NaN or noise, as the constructor says. So a stray write of any value changes
/// them.
class GuardedMatrix {
 public:
  static constexpr std::size_t kGuardBytes = 64 << 10;
  enum class Filling { nan, noise };

  GuardedMatrix(const Driver& driver, DType dtype, std::int64_t rows, std::int64_t cols, std::int64_t ld, int offset,
                Filling filling)
      : driver_(&driver),
        dtype_(dtype),
        rows_(static_cast<std::size_t>(rows)),
        cols_(static_cast<std::size_t>(cols)),
        ld_(static_cast<std::size_t>(ld)),
        first_(kGuardBytes + static_cast<std::size_t>(offset) * element_bytes()),
        image_(first_ + rows_ * ld_ * element_bytes() + kGuardBytes, 0xff),  // NaN in every type but integers
        buffer_(driver, image_.size()) {
    if (filling == Filling::noise) {
      std::uint32_t state = 0x2545f491u;
      for (std::uint8_t& byte : image_) {
        state = state * 1664525u + 1013904223u;
        byte = static_cast<std::uint8_t>(state >> 24);
      }
    }
  }

  std::int64_t rows() const { return static_cast<std::int64_t>(rows_); }
  std::int64_t cols() const { return static_cast<std::int64_t>(cols_); }
  void* device() const { return reinterpret_cast<void*>(buffer_.get() + first_); }

  /// Sets each element to value(row, col), rounded to the element type.
  template <class Value>
  void fill(Value&& value) {
    for (std::size_t row = 0; row < rows_; ++row) {
      for (std::size_t col = 0; col < cols_; ++col) set(row, col, value(row, col));
    }
  }
  void fill_nan() {
    fill([](auto, auto) { return std::numeric_limits<float>::quiet_NaN(); });
  }
  void set(std::size_t row, std::size_t col, float value) {
    standin::store_element(reinterpret_cast<std::uint64_t>(image_.data() + at(row, col)), dtype_, value);
  }
  float get(std::size_t row, std::size_t col) const { return get(image_, row, col); }
  /// The element in `image`, a result of `download`.
  float get(const Bytes& image, std::size_t row, std::size_t col) const {
    return standin::load_element(reinterpret_cast<std::uint64_t>(image.data() + at(row, col)), dtype_);
  }

  /// Enqueued on `stream`, so that later kernels of the stream see the data.
  void upload(CUstream stream) const {
    driver_->check(driver_->cuMemcpyHtoDAsync(buffer_.get(), image_.data(), image_.size(), stream), "upload a matrix");
  }
  /// Waits for `stream`.
  Bytes download(CUstream stream) const {
    Bytes found(image_.size());
    driver_->check(driver_->cuMemcpyDtoHAsync(found.data(), buffer_.get(), found.size(), stream), "download a matrix");
    driver_->check(driver_->cuStreamSynchronize(stream), "wait for a matrix");
    return found;
  }

  /// Describes the first difference on the GPU from `right`, a matrix of the same type, sizes and place; empty if all
  /// bytes are equal, around the matrices too.
  std::string difference(const GuardedMatrix& right, CUstream stream) const {
    const Bytes here = download(stream), there = right.download(stream);
    for (std::size_t row = 0; row < rows_; ++row) {
      for (std::size_t col = 0; col < cols_; ++col) {
        const float found = get(here, row, col), wanted = right.get(there, row, col);
        if (found == wanted || (std::isnan(found) && std::isnan(wanted))) continue;
        return "row " + std::to_string(row) + ", column " + std::to_string(col) + " is " + std::to_string(found) +
               " and should be " + std::to_string(wanted);
      }
    }
    return here == there ? "" : "written outside of D";
  }

  /// Describes the first difference between `found` and the image; empty if there is none.
  std::string change(const Bytes& found) const { return change_in(found, 0, image_.size()); }
  /// Describes the first difference outside of the matrix's elements.
  std::string change_around(const Bytes& found) const {
    std::size_t from = 0;
    for (std::size_t row = 0; row < rows_; ++row) {
      if (std::string text = change_in(found, from, at(row, 0)); !text.empty()) return text;
      from = at(row, cols_);
    }
    return change_in(found, from, image_.size());
  }

 private:
  std::size_t element_bytes() const { return static_cast<std::size_t>(size_bytes(dtype_)); }
  std::size_t at(std::size_t row, std::size_t col) const { return first_ + (row * ld_ + col) * element_bytes(); }

  std::string change_in(const Bytes& found, std::size_t from, std::size_t to) const {
    if (std::memcmp(found.data() + from, image_.data() + from, to - from) == 0) return {};
    std::size_t byte = from;
    while (found[byte] == image_[byte]) ++byte;
    if (byte < first_) return std::to_string(first_ - byte) + " bytes before the matrix";
    const std::size_t element = (byte - first_) / element_bytes();
    if (element >= rows_ * ld_) return std::to_string(byte - at(rows_, 0)) + " bytes behind the matrix";
    return "row " + std::to_string(element / ld_) + ", element " + std::to_string(element % ld_) + " of " +
           std::to_string(cols_) + " + " + std::to_string(ld_ - cols_);
  }

  const Driver* driver_;
  DType dtype_;
  std::size_t rows_, cols_, ld_;
  std::size_t first_;  // offset of the first element in bytes
  Bytes image_;
  DeviceBuffer buffer_;
};

}  // namespace hotgemm
