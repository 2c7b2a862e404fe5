#pragma once

#include "config/kernel_source.hpp"
#include "gpu/driver.hpp"

namespace hotgemm {

/// A kernel in the CUDA context that was current when it was loaded. Move-only; unloads when it goes, ignoring errors:
/// by then the context may be gone.
class LoadedKernel {
 public:
  /// Loads everything that a launch needs, so that no launch ever loads. Waits for kernels that are running.
  /// `smem_bytes` is the dynamic shared memory of every launch. Throws Error.
  LoadedKernel(const Driver& driver, const Cubin& cubin, int smem_bytes);
  ~LoadedKernel();
  LoadedKernel(LoadedKernel&& other) noexcept;
  LoadedKernel& operator=(LoadedKernel&&) = delete;
  LoadedKernel(const LoadedKernel&) = delete;

  /// Leaves the module to the driver: for a CUDA context that is not current, or gone.
  void abandon() noexcept { module_ = nullptr; }

  /// A second kernel of the same cubin; it lives as long as this object.
  CUfunction function(const char* symbol) const;
  CUfunction function() const { return function_; }
  int smem_bytes() const { return smem_bytes_; }
  /// Local memory per thread that the driver reserves: spills and stack.
  int local_bytes() const { return local_bytes_; }

 private:
  const Driver& driver_;
  CUmodule module_ = nullptr;
  CUfunction function_ = nullptr;
  int smem_bytes_ = 0;
  int local_bytes_ = 0;
};

}  // namespace hotgemm
