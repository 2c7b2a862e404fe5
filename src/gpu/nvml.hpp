#pragma once

#include "gpu/driver.hpp"
#include "gpu/shared_library.hpp"

#include <optional>
#include <string>

namespace hotgemm {

/// The PCI bus id of a GPU, "00000000:01:00.0"; empty if the driver does not tell it. CUDA and NVML number GPUs
/// differently, and CUDA_VISIBLE_DEVICES changes the numbers, but the bus id is the same for all.
std::string bus_id(const Driver& driver, CUdevice device);

/// A GPU in NVML, the management library. NVML is loaded by dlopen; without NVML all queries find nothing.
class Nvml {
 public:
  Nvml(const Driver& driver, CUdevice device);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// The NVML handle of the GPU; nullptr if NVML does not know the GPU.
  void* device() const { return device_; }

  /// Calls the function `name`; false if NVML does not have it or if it fails.
  template <class... Args>
  bool call(const char* name, Args... args) const {
    if (!library_) return false;
    const auto function = reinterpret_cast<int (*)(Args...)>(library_->find(name));
    return function != nullptr && function(args...) == 0;
  }

  /// The power limit in force, in watts; nullopt if NVML does not report it.
  std::optional<double> power_limit_w() const;

  /// The power that the GPU draws now, in watts; nullopt if NVML does not report it.
  std::optional<double> power_w() const;

  /// The number of processes that use the GPU through MPS, including this one; nullopt if NVML does not report it.
  std::optional<unsigned> mps_clients() const;

 private:
  std::optional<SharedLibrary> library_;
  void* device_ = nullptr;  // an nvmlDevice_t
};

}  // namespace hotgemm
