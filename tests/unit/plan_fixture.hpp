#pragma once

#include "config/device_info.hpp"
#include "config/families.hpp"
#include "config/kernel_config.hpp"
#include "plan/candidates.hpp"
#include "shared/ceiling_args.hpp"

#include <array>
#include <string>
#include <tuple>
#include <vector>

namespace hotgemm {

using TypePair = KernelTypes;

/// The types for which family `mma` uses tensor cores.
inline constexpr TypePair kTensorTypes[] = {
    {DType::f16, DType::f32}, {DType::f16, DType::f16}, {DType::bf16, DType::f32}};
/// The kernels that measure the rate of an instruction.
inline std::vector<CeilingKind> ceiling_kinds(CeilingInstruction instruction) {
  std::vector<CeilingKind> kinds;
  for (const TypePair& types : kTensorTypes) kinds.push_back({instruction, types.element, types.accumulator});
  if (instruction == CeilingInstruction::wgmma) {
    for (const DType element : {DType::tf32, DType::e4m3, DType::e5m2})
      kinds.push_back({instruction, element, DType::f32});
    kinds.push_back({instruction, DType::s8, DType::s32});
  }
  return kinds;
}
/// All types of the library's kernels whose A, B and D have one type.
inline constexpr TypePair kAllTypes[] = {
    {DType::f16, DType::f32}, {DType::f16, DType::f16}, {DType::bf16, DType::f32}, {DType::f32, DType::f32}};
/// Some of the others: a wider D, a B of another type, integers.
inline constexpr TypePair kMixedTypes[] = {{DType::bf16, DType::f32, DType::bf16, DType::f32},
                                           {DType::e4m3, DType::f32, DType::e5m2, DType::bf16},
                                           {DType::s8, DType::s32, DType::s8, DType::s32},
                                           {DType::s8, DType::s32, DType::s8, DType::f16}};

inline constexpr const char* kTensorArchs[] = {"sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"};

struct Layout {
  Op op_a;
  Op op_b;
};
inline constexpr Layout kLayouts[] = {{Op::n, Op::n}, {Op::n, Op::t}, {Op::t, Op::n}, {Op::t, Op::t}};

inline GemmTraits make_traits(TypePair types, Layout layout, bool reads_c = false, int vec = 8) {
  return {.element = types.element,
          .accumulator = types.accumulator,
          .element_b = types.element_b,
          .element_d = types.element_d,
          .op_a = layout.op_a,
          .op_b = layout.op_b,
          .reads_c = reads_c,
          .vec_a = vec,
          .vec_b = vec,
          .vec_d = vec};
}

/// Traits of these types with rows at multiples of 16 bytes.
inline GemmTraits aligned_traits(const KernelTypes& types, Layout layout, bool reads_c = false) {
  GemmTraits traits = make_traits(types, layout, reads_c);
  traits.vec_a = 16 / size_bytes(types.element);
  traits.vec_b = 16 / size_bytes(types.element_b);
  traits.vec_d = 16 / size_bytes(types.element_d);
  return traits;
}

/// Visits the candidates of family mma, for all layouts and types, on the architecture with the most shared memory.
/// Each config is visited once per layout.
template <class Visit>  // void(const MmaConfig&, const GemmTraits&)
void for_each_mma_candidate(Visit&& visit) {
  for (const Layout& layout : kLayouts) {
    for (const TypePair& types : kTensorTypes) {
      const GemmTraits traits = make_traits(types, layout);
      for (const KernelConfig& config : candidates(traits, arch_limits("sm_90a"))) {
        if (const auto* mma = std::get_if<MmaConfig>(&config)) visit(*mma, traits);
      }
    }
  }
}

}  // namespace hotgemm
