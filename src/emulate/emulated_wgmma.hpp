#pragma once

#include "emulate/warpgroup.hpp"
#include "shared/gemm_traits.hpp"
#include "shared/gemm_types.hpp"
#include "shared/wgmma_config.hpp"

#include <cstdint>
#include <type_traits>

namespace hotgemm::emulate {

/// The `Instruction` parameter of a wgmma kernel on the emulated device. For a GPU the library renders it as text
/// (wgmma_text).
template <int kN, DType kA, DType kAccumulator, bool kAIsKMajor, bool kBIsKMajor, DType kB = kA,
          bool kAInRegisters = false>
struct EmulatedWgmma {
  static constexpr WgmmaShape kShape{.n = kN,
                                     .a = kA,
                                     .b = kB,
                                     .sum = kAccumulator,
                                     .a_is_k_major = kAIsKMajor,
                                     .b_is_k_major = kBIsKMajor,
                                     .a_in_registers = kAInRegisters};
  static_assert(kShape.exists());
  using Register = std::conditional_t<kAccumulator == DType::f32, float, std::uint32_t>;

  static void mma_async(Register (&d)[kShape.registers()], std::uint64_t a, std::uint64_t b,
                        bool accumulate) requires(!kAInRegisters) {
    wgmma_mma_async({kShape, a, b, accumulate, d});
  }
  static void mma_async(Register (&d)[kShape.registers()], const std::uint32_t (&a)[WgmmaShape::kRegistersOfA],
                        std::uint64_t b, bool accumulate) requires(kAInRegisters) {
    wgmma_mma_async({kShape, 0, b, accumulate, d, a});
  }
};

/// The instruction of a config's kernels.
template <GemmTraits kTraits, WgmmaConfig kConfig>
using EmulatedWgmmaOf =
    EmulatedWgmma<kConfig.instruction_n(), kConfig.transposed ? kTraits.element_b : kTraits.element,
                  kTraits.accumulator, kConfig.row_tile(kTraits).k_major, kConfig.column_tile(kTraits).k_major,
                  kConfig.transposed ? kTraits.element : kTraits.element_b, kConfig.loads_rows(kTraits)>;

}  // namespace hotgemm::emulate
