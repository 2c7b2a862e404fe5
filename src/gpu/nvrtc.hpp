#pragma once

#include "config/kernel_source.hpp"
#include "config/template_bundle.hpp"

#include <nvrtc.h>

#include <chrono>
#include <string>

namespace hotgemm {

/// NVRTC, loaded by dlopen. Compiling needs neither a GPU nor libcuda. Immutable; usable from any thread.
class Nvrtc {
 public:
  /// Loads libnvrtc once per process, where find_nvrtc finds it. Throws Error{no_compiler} if there is none of version
  /// 12.9 or later, and Error{interrupted} at the end of the program.
  static const Nvrtc& get();
  /// The library if get() has succeeded before, else nullptr. Never loads a library.
  static const Nvrtc* loaded() noexcept;

  /// Compiles `source`. Throws Error{compile_failed} with NVRTC's log, which names template files and lines. After a
  /// success, `log` receives NVRTC's log, including the report of ptxas on the kernel. At `deadline` NVRTC is told to
  /// stop; then throws Error{interrupted}. NVRTC asks between its phases: front end, optimiser, ptxas. All
  /// phases of one of our kernels together take 0.3 to 2 s of CPU time.
  Cubin compile(const KernelSource& source, const TemplateBundle& bundle, std::string* log = nullptr,
                std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max()) const;

  /// The toolchain as "nvrtc-13.0-<ELF build id>": a cubin depends on it in addition to its identity.
  const std::string& toolchain() const { return toolchain_; }
  const std::string& path() const { return path_; }

 private:
  Nvrtc();

  std::string path_;
  std::string toolchain_;
  decltype(&::nvrtcVersion) version_;
  decltype(&::nvrtcGetErrorString) error_string_;
  decltype(&::nvrtcCreateProgram) create_program_;
  decltype(&::nvrtcDestroyProgram) destroy_program_;
  decltype(&::nvrtcCompileProgram) compile_program_;
  decltype(&::nvrtcGetProgramLogSize) log_size_;
  decltype(&::nvrtcGetProgramLog) log_;
  decltype(&::nvrtcGetCUBINSize) cubin_size_;
  decltype(&::nvrtcGetCUBIN) cubin_;
  decltype(&::nvrtcGetPTXSize) ptx_size_;
  decltype(&::nvrtcGetPTX) ptx_;
  decltype(&::nvrtcSetFlowCallback) set_flow_callback_;
};

}  // namespace hotgemm
