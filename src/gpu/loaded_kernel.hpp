#pragma once

#include "config/kernel_source.hpp"
#include "gpu/driver.hpp"

namespace hotgemm {

/// The driver refuses an image: it is damaged, made for another GPU, or lacks the kernel. Another image may be good.
class RefusedCubin : public Error {
 public:
  explicit RefusedCubin(const std::string& message) : Error(ErrorCode::driver_error, message) {}
};

/// A kernel in the CUDA context that was current when it was loaded. Move-only. The destructor unloads the kernel and
/// ignores errors; its context must be current, unless `unload` or `abandon` came before.
class LoadedKernel {
 public:
  /// Loads everything that a launch needs, so that no launch loads anything. Waits for running kernels. `smem_bytes` is
  /// the dynamic shared memory of every launch. Throws RefusedCubin and other Errors.
  LoadedKernel(const Driver& driver, const Cubin& cubin, int smem_bytes);
  ~LoadedKernel();
  LoadedKernel(LoadedKernel&& other) noexcept;
  LoadedKernel& operator=(LoadedKernel&&) = delete;
  LoadedKernel(const LoadedKernel&) = delete;

  /// Unloads the kernel now. Its context must be current. The object is of no use after that.
  void unload() noexcept;
  /// Leaves the module to the driver, because the CUDA context is not current or no longer exists.
  void abandon() noexcept { module_ = nullptr; }

  /// Another kernel of the same cubin; the result is valid as long as this object lives.
  CUfunction function(const char* symbol) const;
  CUfunction function() const { return function_; }
  int smem_bytes() const { return smem_bytes_; }

 private:
  const Driver& driver_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  int smem_bytes_ = 0;
};

}  // namespace hotgemm
