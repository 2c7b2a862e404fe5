#pragma once

#include "gpu/check_kernels.hpp"
#include "gpu/device.hpp"
#include "gpu/gemm_launch.hpp"
#include "runtime/engine.hpp"
#include "runtime/plan_impl.hpp"
#include "runtime/plan_table.hpp"
#include "runtime/workspace_pool.hpp"

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>

namespace hotgemm {

/// The id of the current CUDA context. Throws Error{no_device} if there is none.
unsigned long long current_context_id(const Driver& driver);

/// The state that a Context keeps for each CUDA context: its GPU, the kernels loaded into it, and the plans.
class DeviceState {
 public:
  /// Makes the state of the current CUDA context.
  DeviceState(const Driver& driver, Engine& engine);
  ~DeviceState();

  const Driver& driver() const { return driver_; }
  Engine& engine() const { return engine_; }
  unsigned long long context_id() const { return context_id_; }
  /// The GPU with nominal clocks; see identify_device.
  const DeviceInfo& info() const { return info_; }
  /// The GPU with the clocks that the driver reports. The context must be current.
  DeviceInfo info_with_clocks() const;
  /// The environment at the moment of the call: the toolchain is known only after NVRTC has been loaded.
  Environment environment() const;
  GpuQuery query() const { return engine_.query(environment()); }

  PlanTable& plans() { return plans_; }
  WorkspacePool& workspace() { return workspace_; }

  /// The kernel of `config`, loaded from `cubin` once per context.
  std::shared_ptr<const GemmKernel> load(const KernelConfig& config, const GemmTraits& traits, const Cubin& cubin);
  /// The kernel that repacks operands, loaded from `cubin` once per context.
  std::shared_ptr<const RepackKernel> load_repack(const Cubin& cubin);
  /// The same, from the cache on first use. If it is not there, it is compiled, or `may_compile` is false and the
  /// function throws Error{not_prepared}.
  std::shared_ptr<const RepackKernel> repack_kernel(bool may_compile = true);
  /// The check kernels, built and loaded on first use.
  const CheckKernels& check_kernels();

  std::shared_ptr<const PlanImpl> make_plan(const Choice& choice, const GemmTraits& traits, const Cubin& cubin,
                                            PlanWorkspace workspace = {}, std::string note = {});

  /// The right to plan a problem class, held by one thread at a time from construction to destruction.
  class Flight {
   public:
    Flight(DeviceState& state, const ClassKey& key);
    ~Flight();
    Flight(const Flight&) = delete;
    Flight& operator=(const Flight&) = delete;

   private:
    DeviceState& state_;
    ClassKey key_;
  };
  /// The right to tune a problem class, which one thread at a time has. Nobody waits for it.
  class TuningFlight {
   public:
    TuningFlight(DeviceState& state, const ClassKey& key);
    ~TuningFlight();
    TuningFlight(const TuningFlight&) = delete;
    TuningFlight& operator=(const TuningFlight&) = delete;
    /// False if another thread has the right.
    explicit operator bool() const { return has_it_; }

   private:
    DeviceState& state_;
    ClassKey key_;
    bool has_it_;
  };

 private:
  const Driver& driver_;
  Engine& engine_;
  unsigned long long context_id_;
  DeviceInfo info_;
  std::string driver_version_;
  WorkspacePool workspace_;
  PlanTable plans_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable landed_;
  std::vector<ClassKey> in_flight_;
  std::vector<ClassKey> being_tuned_;
  std::map<std::string, std::shared_ptr<GemmKernel>> kernels_;  // by symbol
  std::shared_ptr<RepackKernel> repack_kernel_;
  std::unique_ptr<CheckKernels> check_kernels_;
};

}  // namespace hotgemm
