#pragma once

#include "config/device_info.hpp"
#include "gpu/driver.hpp"
#include "records/tuning_record.hpp"

namespace hotgemm {

/// What the driver says of a GPU. Throws Error.
DeviceInfo query_device(const Driver& driver, CUdevice device);
/// The same in a tenth of the time, with the clock and the DRAM's rate that are nominal for the architecture: asking
/// the driver for clocks takes about a millisecond.
DeviceInfo identify_device(const Driver& driver, CUdevice device);

/// "13.0": the CUDA version that the driver supports.
std::string driver_version(const Driver& driver);

/// The primary context of GPU `ordinal`, current on this thread while the object lives. For programs of our own; a
/// library call uses the context that its caller has made current.
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
