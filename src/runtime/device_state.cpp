#include "runtime/device_state.hpp"

#include "config/render.hpp"
#include "gpu/nvrtc.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace hotgemm {
namespace {

CUdevice current_device(const Driver& driver) {
  CUdevice device = 0;
  driver.check(driver.cuCtxGetDevice(&device), "read the current context's GPU");
  return device;
}

}  // namespace

unsigned long long current_context_id(const Driver& driver) {
  unsigned long long id = 0;
  if (const CUresult result = driver.cuCtxGetId(nullptr, &id); result != CUDA_SUCCESS) {
    driver.fail(result, "find the current CUDA context");
  }
  return id;
}

DeviceState::DeviceState(const Driver& driver, Engine& engine)
    : driver_(driver),
      engine_(engine),
      context_id_(current_context_id(driver)),
      info_(identify_device(driver, current_device(driver))),
      driver_version_(hotgemm::driver_version(driver)),
      workspace_(driver, engine.workspace) {}

DeviceState::~DeviceState() {
  unsigned long long current = 0;
  if (driver_.cuCtxGetId(nullptr, &current) == CUDA_SUCCESS && current == context_id_) return;
  // Another context is current, or this context and its kernels no longer exist: leave the kernels to the driver.
  for (auto& [symbol, kernel] : kernels_) kernel->kernel.abandon();
  if (repack_kernel_) repack_kernel_->kernel.abandon();
  if (check_kernels_) check_kernels_->abandon();
  workspace_.abandon();
}

DeviceInfo DeviceState::info_with_clocks() const { return query_device(driver_, current_device(driver_)); }

Environment DeviceState::environment() const {
  const Nvrtc* nvrtc = Nvrtc::loaded();
  return {.gpu = info_.name,
          .arch = info_.arch,
          .sm_count = info_.sm_count,
          .driver = driver_version_,
          .toolchain = nvrtc != nullptr ? nvrtc->toolchain() : std::string()};
}

std::shared_ptr<const GemmKernel> DeviceState::load(const KernelConfig& config, const GemmTraits& traits,
                                                    const Cubin& cubin) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<GemmKernel>& slot = kernels_[cubin.symbol];
  if (!slot) {
    slot = std::make_shared<GemmKernel>(load_gemm_kernel(driver_, config, traits, cubin, info_.sm_count));
  }
  return slot;
}

std::shared_ptr<const RepackKernel> DeviceState::load_repack(const Cubin& cubin) {
  const std::lock_guard lock(mutex_);
  if (!repack_kernel_) {
    repack_kernel_ = std::make_shared<RepackKernel>(RepackKernel{LoadedKernel(driver_, cubin, 0), info_.sm_count});
  }
  return repack_kernel_;
}

std::shared_ptr<const RepackKernel> DeviceState::repack_kernel(bool may_compile) {
  {
    const std::lock_guard lock(mutex_);
    if (repack_kernel_) return repack_kernel_;
  }
  const KernelSource source = render_repack(info_.arch, engine_.bundle);
  std::optional<Cubin> cubin = engine_.builder.find(source);
  if (!cubin && !may_compile) {
    throw Error(ErrorCode::not_prepared, "no cubin in the cache of the kernel that packs operands on " + info_.arch +
                                             "; run: hotgemm prewarm, for a problem with prepacked=");
  }
  if (!cubin) {
    cubin = engine_.builder.build(source).cubin;
    ++engine_.compiled;
  }
  return load_repack(*cubin);
}

const CheckKernels& DeviceState::check_kernels() {
  const std::lock_guard lock(mutex_);
  if (!check_kernels_) check_kernels_ = std::make_unique<CheckKernels>(driver_, engine_.builder, info_.arch);
  return *check_kernels_;
}

std::shared_ptr<const PlanImpl> DeviceState::make_plan(const Choice& choice, const GemmTraits& traits,
                                                       const Cubin& cubin, PlanWorkspace workspace, std::string note) {
  const Resources resources{.registers = cubin.registers,
                            .spill_bytes = cubin.spill_bytes,
                            .smem_bytes = smem_bytes(choice.config, traits),
                            .threads = threads(choice.config),
                            .compile_ms = cubin.compile_ms};
  return std::make_shared<const PlanImpl>(driver_, context_id_, choice, load(choice.config, traits, cubin), resources,
                                          std::move(workspace), std::move(note));
}

DeviceState::Flight::Flight(DeviceState& state, const ClassKey& key) : state_(state), key_(key) {
  std::unique_lock lock(state_.mutex_);
  state_.landed_.wait(lock, [&] { return std::ranges::find(state_.in_flight_, key_) == state_.in_flight_.end(); });
  state_.in_flight_.push_back(key_);
}

DeviceState::Flight::~Flight() {
  const std::lock_guard lock(state_.mutex_);
  std::erase(state_.in_flight_, key_);
  state_.landed_.notify_all();
}

DeviceState::TuningFlight::TuningFlight(DeviceState& state, const ClassKey& key) : state_(state), key_(key) {
  const std::lock_guard lock(state_.mutex_);
  has_it_ = std::ranges::find(state_.being_tuned_, key_) == state_.being_tuned_.end();
  if (has_it_) state_.being_tuned_.push_back(key_);
}

DeviceState::TuningFlight::~TuningFlight() {
  if (!has_it_) return;
  const std::lock_guard lock(state_.mutex_);
  std::erase(state_.being_tuned_, key_);
}

}  // namespace hotgemm
