#pragma once

#include "gpu/driver.hpp"

#include <cstddef>

namespace hotgemm {

/// Owner of device memory. Move-only; only one thread at a time may use it.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  /// Allocates in the current context; zero bytes allocate nothing. Throws Error{out_of_memory} and other driver
  /// errors.
  DeviceBuffer(const Driver& driver, std::size_t bytes);
  /// Frees in the current context. Errors are ignored, because the destructor may run after another error.
  ~DeviceBuffer();
  DeviceBuffer(DeviceBuffer&& other) noexcept;
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept;

  /// Leaves the memory to the driver, because the CUDA context is not current or no longer exists.
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
