#pragma once

#include "gpu/driver.hpp"
#include "gpu/shared_library.hpp"

#include <optional>

namespace hotgemm {

/// A GPU as NVML, the management library, knows it. NVML is dlopened; where it is missing, nothing is known.
class Nvml {
 public:
  Nvml(const Driver& driver, CUdevice device);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  /// What NVML calls the GPU; nullptr if it does not know it.
  void* device() const { return device_; }

  /// Calls the function `name`; false where it is missing or fails.
  template <class... Args>
  bool call(const char* name, Args... args) const {
    if (!library_) return false;
    const auto function = reinterpret_cast<int (*)(Args...)>(library_->find(name));
    return function != nullptr && function(args...) == 0;
  }

  /// Processes with a context on the GPU through MPS, this one included; nullopt if NVML does not say.
  std::optional<unsigned> mps_clients() const;

 private:
  std::optional<SharedLibrary> library_;
  void* device_ = nullptr;  // nvmlDevice_t
};

}  // namespace hotgemm
