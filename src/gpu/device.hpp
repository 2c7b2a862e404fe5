#pragma once

#include "config/device_info.hpp"
#include "gpu/driver.hpp"
#include "records/tuning_record.hpp"

#include <cstdint>

namespace hotgemm {

/// The properties of a GPU as the driver reports them. Throws Error.
DeviceInfo query_device(const Driver& driver, CUdevice device);
/// The properties in a tenth of the time, because asking the driver for clocks takes about a millisecond. The clock and
/// the DRAM rate are the nominal values of the architecture.
DeviceInfo identify_device(const Driver& driver, CUdevice device);

/// The memory that the GPU of the current CUDA context has left. Throws Error.
std::int64_t free_bytes(const Driver& driver);

/// The CUDA version that the driver supports, such as "13.0".
std::string driver_version(const Driver& driver);

/// Makes the primary context of GPU `ordinal` current on this thread while the object lives. It is for our own
/// programs; a library call uses the context that its caller has made current.
class PrimaryContext {
 public:
  PrimaryContext(const Driver& driver, int ordinal);
  ~PrimaryContext();
  PrimaryContext(const PrimaryContext&) = delete;
  PrimaryContext& operator=(const PrimaryContext&) = delete;

  CUdevice device() const { return device_; }

 private:
  const Driver& driver_;
  CUdevice device_ = 0;
  CUcontext previous_ = nullptr;
};

}  // namespace hotgemm
