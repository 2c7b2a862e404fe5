#pragma once

#include "gpu/check_kernels.hpp"
#include "gpu/current_context.hpp"
#include "gpu/device.hpp"
#include "gpu/gemm_launch.hpp"
#include "gpu/stream.hpp"
#include "runtime/class_flights.hpp"
#include "runtime/engine.hpp"
#include "runtime/kernel_table.hpp"
#include "runtime/plan_impl.hpp"
#include "runtime/plan_table.hpp"
#include "runtime/workspace_pool.hpp"

#include <memory>
#include <string>

namespace hotgemm {

/// The state that a Context keeps for each CUDA context: its GPU, the kernels loaded into it, and the plans.
class DeviceState {
 public:
  /// Makes the state of the current CUDA context.
  DeviceState(const Driver& driver, Engine& engine);
  ~DeviceState();

  const Driver& driver() const { return driver_; }
  Engine& engine() const { return engine_; }
  CUdevice gpu() const { return device_; }
  unsigned long long context_id() const { return context_id_; }
  /// True if the CUDA context is the primary one of its GPU, in which threads of the library can work.
  bool is_primary() const { return is_primary_; }
  /// The GPU with nominal clocks; see identify_device.
  const DeviceInfo& info() const { return info_; }
  /// The GPU with the clocks that the driver reports. The context must be current.
  DeviceInfo info_with_clocks() const;
  /// The environment at the moment of the call: the toolchain is known only after NVRTC has been loaded.
  Environment environment() const;
  GpuQuery query() const { return engine_.query(environment()); }

  PlanTable& plans() { return plans_; }
  const PlanTable& plans() const { return plans_; }
  WorkspacePool& workspace() { return workspace_; }

  /// The kernel of `config`, loaded from `cubin` once per context. A cubin that the driver refuses is dropped from the
  /// cache; one that is compiled again takes its place, or another one from the cache if `may_compile` is false. If
  /// that is refused too, the function throws RefusedCubin with both reasons, now and in later calls.
  std::shared_ptr<const GemmKernel> load(const KernelConfig& config, const GemmTraits& traits, const Cubin& cubin,
                                         bool may_compile = true);
  /// Throws the RefusedCubin that ended the loading of a GEMM kernel, so that no call compiles it again.
  void require_not_refused(const std::string& symbol) { kernels_.require_not_refused(symbol); }
  /// The kernel that repacks operands, from the cache on first use. If it is not there, it is compiled, or
  /// `may_compile` is false and the function throws Error{not_prepared}.
  std::shared_ptr<const RepackKernel> repack_kernel(bool may_compile = true);
  /// The check kernels, built and loaded on first use.
  const CheckKernels& check_kernels();
  /// The GEMM kernels that are loaded.
  std::vector<std::shared_ptr<const GemmKernel>> kernels() { return kernels_.all(); }

  std::shared_ptr<const PlanImpl> make_plan(const Choice& choice, const GemmTraits& traits, const Cubin& cubin,
                                            PlanWorkspace workspace = {}, std::string note = {},
                                            bool may_compile = true);
  std::shared_ptr<const PlanImpl> make_plan(const Choice& choice, std::shared_ptr<const GemmKernel> kernel,
                                            PlanWorkspace workspace, std::string note);

  /// The classes that are being planned.
  ClassFlights& planning() { return planning_; }
  /// The classes that are being tuned. Nobody waits for a tuning.
  ClassFlights& tuning() { return tuning_; }

 private:
  static constexpr const char* kRepackKernel = "repack";  // in repack_kernels_

  /// The result of `load` with `cubin`; or, if the driver refuses that, with another one of the same source.
  template <class SourceOf, class Load>
  auto load_or_rebuild(const Cubin& cubin, bool may_compile, SourceOf&& source_of, Load&& load);

  const Driver& driver_;
  Engine& engine_;
  CUdevice device_;
  unsigned long long context_id_;
  bool is_primary_;
  DeviceInfo info_;
  std::string driver_version_;
  WorkspacePool workspace_;
  PlanTable plans_;

  KernelTable<GemmKernel> kernels_;
  KernelTable<RepackKernel> repack_kernels_;
  KernelTable<CheckKernels> check_kernels_;

  ClassFlights planning_;
  ClassFlights tuning_;
};

}  // namespace hotgemm
