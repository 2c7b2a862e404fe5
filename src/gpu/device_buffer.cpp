#include "gpu/device_buffer.hpp"

#include <string>
#include <utility>

namespace hotgemm {

DeviceBuffer::DeviceBuffer(const Driver& driver, std::size_t bytes) : driver_(&driver), bytes_(bytes) {
  if (bytes == 0) return;
  driver.check(driver.cuMemAlloc(&address_, bytes), "allocate " + std::to_string(bytes) + " bytes of device memory");
}

DeviceBuffer::~DeviceBuffer() {
  if (address_ != 0) driver_->cuMemFree(address_);
}

DeviceBuffer::DeviceBuffer(DeviceBuffer&& other) noexcept
    : driver_(other.driver_), address_(std::exchange(other.address_, 0)), bytes_(std::exchange(other.bytes_, 0)) {}

DeviceBuffer& DeviceBuffer::operator=(DeviceBuffer&& other) noexcept {
  std::swap(driver_, other.driver_);
  std::swap(address_, other.address_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

}  // namespace hotgemm
