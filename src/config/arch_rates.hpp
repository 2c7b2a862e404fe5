#pragma once

#include "config/device_info.hpp"

#include <string_view>

namespace hotgemm {

/// The rates of an SM, per clock. DeviceInfo has the clock rate, the number of SMs and the rate of DRAM, which differ
/// among the GPUs of an architecture.
struct ArchRates {
  int sm;                 ///< as in ArchLimits
  double cuda_f32_flops;  ///< on CUDA cores, by fused multiply-adds that count twice
  double cuda_f16_flops;
  double cuda_s8_flops;     ///< by dp4a, whose four products and four sums count as eight
  double tensor_f32_flops;  ///< dense, on tensor cores: 16-bit elements, sums in f32
  double tensor_f16_flops;  ///< the same, sums in f16
  double mma_share;         ///< of the two rates above that `mma.sync` reaches
  double l2_bytes;          ///< from L2, if all SMs read at once
};

/// The row of the architecture. Throws Error{invalid_argument} if hotgemm does not know `arch`.
const ArchRates& arch_rates(std::string_view arch);

}  // namespace hotgemm
