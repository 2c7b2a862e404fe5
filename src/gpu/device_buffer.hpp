#pragma once

#include "gpu/driver.hpp"

#include <cstddef>

namespace hotgemm {

/// Device memory, owned. Move-only; not for use by several threads at once.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// Allocates in the current context; nothing for zero bytes. Throws Error{out_of_memory} and other driver errors.
  DeviceBuffer(const Driver& driver, std::size_t bytes);
  /// Frees in the current context. Errors are ignored: a destructor may run because of one.
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;

  /// Leaves the memory to the driver: for a CUDA context that is not current, or gone.
  void abandon() noexcept { address_ = 0; }

  /// 0 for an empty buffer, else aligned to 256 bytes.
  CUdeviceptr get() const { return address_; }
  std::size_t bytes() const { return bytes_; }

 private:
  const Driver* driver_ = nullptr;
  CUdeviceptr address_ = 0;
  std::size_t bytes_ = 0;
};

}  // namespace hotgemm
