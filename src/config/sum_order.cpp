#include "config/sum_order.hpp"

#include <type_traits>

namespace hotgemm {
namespace {

/// The k-tile of batch-invariant kernels on CUDA cores: most rows of their menus have it.
constexpr int kInvariantStepK = 16;

template <class Config>
SumSequence sequence_of(const Config&, const LaunchConfig&) {
  static_assert(!std::is_same_v<Config, Config>,
                "this config's family has no order of sums: add its sequence_of to src/config/sum_order.cpp");
  return {};
}
SumSequence sequence_of(const SimtConfig& c, const LaunchConfig&) {
  return {.unit = SumUnit::cuda_cores, .step_k = c.block_k};
}
SumSequence sequence_of(const FmaConfig& c, const LaunchConfig&) {
  // Without stages nothing is appended.
  return {.unit = SumUnit::cuda_cores, .parts = c.slices > 1 ? c.slices : 0, .step_k = c.stages == 0 ? 1 : c.block_k};
}
SumSequence sequence_of(const WmmaConfig&, const LaunchConfig&) { return {.unit = SumUnit::wmma}; }
SumSequence sequence_of(const MmaConfig&, const LaunchConfig&) { return {.unit = SumUnit::mma}; }
SumSequence sequence_of(const WgmmaConfig& c, const LaunchConfig& launch) {
  const int promoted_k = c.promote ? kPromotedK : 0;
  if (!c.split_k) return {.unit = SumUnit::wgmma, .promoted_k = promoted_k};
  return {.unit = SumUnit::wgmma,
          .parts = launch.splits,
          .step_k = c.block_k,
          .block_m = c.block_m,
          .block_n = c.block_n,
          .consumers = c.consumers,
          .promoted_k = promoted_k};
}

}  // namespace

SumSequence sum_sequence(const KernelConfig& config, const LaunchConfig& launch) {
  return std::visit([&](const auto& c) { return sequence_of(c, launch); }, config);
}

SumSequence invariant_sequence(const Types& types, const ArchLimits& arch) {
  // Kernels of these units compute every layout and alignment of the type without workspace, but for some with a wide
  // D, a gate, groups or pointers on Hopper, which docs/sums.md lists: the order must not depend on the alignment.
  const bool is_half = types.a == types.b && (types.a == DType::f16 || types.a == DType::bf16);
  if (is_half && arch.has_wgmma) return {.unit = SumUnit::wgmma};
  if (is_half && types.a == types.d && arch.has_cp_async) return {.unit = SumUnit::mma};
  return {.unit = SumUnit::cuda_cores, .step_k = kInvariantStepK};
}

bool keeps_order(SumOrder order, const Types& types, const KernelConfig& config, const LaunchConfig& launch,
                 const ArchLimits& arch) {
  if (order != SumOrder::batch_invariant || types.compute == ComputeType::s32) return true;  // integers: any order
  return sum_sequence(config, launch) == invariant_sequence(types, arch);
}

}  // namespace hotgemm
