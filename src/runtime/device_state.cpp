#include "runtime/device_state.hpp"

#include "base/fork_guard.hpp"
#include "base/log.hpp"
#include "config/render.hpp"
#include "gpu/nvrtc.hpp"

#include <hotgemm/error.hpp>

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

DeviceState::DeviceState(const Driver& driver, Engine& engine)
    : driver_(driver),
      engine_(engine),
      device_(current_device(driver)),
      context_id_(current_context_id(driver)),
      is_primary_(is_primary_context(driver, device_, context_id_)),
      info_(identify_device(driver, device_)),
      driver_version_(hotgemm::driver_version(driver)),
      workspace_(driver, engine.workspace),
      plans_(engine.max_plans) {}

DeviceState::~DeviceState() {
  // Plans may live longer than this object, so the kernels are unloaded here, and not where the last plan is dropped.
  std::optional<RelaxedCaptureMode> relaxed;  // the program may be capturing elsewhere
  std::optional<ContextOfId> own;
  if (!has_lost_cuda()) {
    try {
      relaxed.emplace(driver_);
    } catch (const Error& error) {
      log(LogLevel::debug, std::string("unloading beside captures: ") + error.what());
    }
    own.emplace(driver_, device_, context_id_);
  }
  const auto end = [&](auto& owner) { own && own->is_current() ? owner.unload() : owner.abandon(); };
  kernels_.for_each([&](GemmKernel& kernel) { end(kernel.kernel); });
  repack_kernels_.for_each([&](RepackKernel& kernel) { end(kernel.kernel); });
  check_kernels_.for_each(end);
  end(workspace_);
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

template <class SourceOf, class Load>
auto DeviceState::load_or_rebuild(const Cubin& cubin, bool may_compile, SourceOf&& source_of, Load&& load) {
  std::string first;
  try {
    return load(cubin);
  } catch (const RefusedCubin& refusal) {
    first = refusal.what();
  }
  ++engine_.counters.refused_cubins;
  const KernelSource source = source_of();
  const Cubin other = engine_.count(source, [&] { return engine_.builder.rebuild(source, cubin, first, may_compile); });
  try {
    return load(other);
  } catch (const RefusedCubin& refusal) {
    ++engine_.counters.refused_cubins;
    engine_.cache.discard(source.identity, other, refusal.what());
    throw RefusedCubin("the driver refuses two cubins of one kernel: of " + cubin.toolchain + ": " + first +
                       "; then of " + other.toolchain + ": " + refusal.what());
  }
}

std::shared_ptr<const GemmKernel> DeviceState::load(const KernelConfig& config, const GemmTraits& traits,
                                                    const Cubin& cubin, bool may_compile) {
  return kernels_.find_or_load(cubin.symbol, [&] {
    return load_or_rebuild(
        cubin, may_compile, [&] { return render(config, traits, info_.arch, engine_.bundle); },
        [&](const Cubin& image) { return load_gemm_kernel(driver_, config, traits, image, info_.sm_count); });
  });
}

std::shared_ptr<const RepackKernel> DeviceState::repack_kernel(bool may_compile) {
  return repack_kernels_.find_or_load(kRepackKernel, [&] {
    const KernelSource source = render_repack(info_.arch, engine_.bundle);
    std::optional<Cubin> cubin = engine_.builder.find(source);
    if (!cubin && !may_compile) {
      throw Error(ErrorCode::not_prepared, "no cubin in the cache of the kernel that packs operands on " + info_.arch +
                                               "; run: hotgemm prewarm, for a problem with prepacked=");
    }
    if (!cubin) cubin = engine_.build(source);
    return load_or_rebuild(
        *cubin, may_compile, [&] { return source; },
        [&](const Cubin& image) {
          return RepackKernel{LoadedKernel(driver_, image, 0), info_.sm_count};
        });
  });
}

const CheckKernels& DeviceState::check_kernels() {
  return *check_kernels_.find_or_load("check", [&] {
    const KernelSource source = render_check(info_.arch, engine_.bundle);
    return load_or_rebuild(
        engine_.build(source), true, [&] { return source; },
        [&](const Cubin& image) { return CheckKernels(driver_, image); });
  });
}

std::shared_ptr<const PlanImpl> DeviceState::make_plan(const Choice& choice, const GemmTraits& traits,
                                                       const Cubin& cubin, PlanWorkspace workspace, std::string note,
                                                       bool may_compile) {
  return make_plan(choice, load(choice.config, traits, cubin, may_compile), std::move(workspace), std::move(note));
}

std::shared_ptr<const PlanImpl> DeviceState::make_plan(const Choice& choice, std::shared_ptr<const GemmKernel> kernel,
                                                       PlanWorkspace workspace, std::string note) {
  return std::make_shared<const PlanImpl>(driver_, context_id_, choice, std::move(kernel), std::move(workspace),
                                          std::move(note), &engine_.counters.launches, engine_.problem_log.get());
}

}  // namespace hotgemm
