#include "emulate/host_function.hpp"
#include "emulate/kernels/product_kernel.hpp"

#include "emulate/functions/indices.cuh"

namespace hotgemm::emulate {
namespace {

// clang-format off
constexpr Epilogue kNone{};
constexpr Epilogue kAll{.scale_a = Scaling::vector, .bias = Bias::per_row, .aux = true, .activation = Activation::relu, .residual = true, .scalars = true};
constexpr Epilogue kColumns{.scale_b = Scaling::vector, .bias = Bias::per_column};
constexpr Epilogue kIndexed{.bias = Bias::per_column, .amax = true, .function = kIndices};
constexpr Epilogue kExtras{.scale_a = Scaling::vector, .bias = Bias::per_column, .aux = true, .activation = Activation::clamp, .residual = true, .amax = true};

constexpr WgmmaConfig kAcross{.block_m = 128, .block_n = 64, .block_k = 64, .consumers = 2, .stages = 2};
constexpr WgmmaConfig kBelow{.block_m = 64, .block_n = 64, .block_k = 64, .consumers = 1, .stages = 2, .cluster_m = 2};
constexpr WgmmaConfig kBeside{.block_m = 64, .block_n = 64, .block_k = 64, .consumers = 1, .stages = 2, .cluster_n = 2};
constexpr WgmmaConfig kSquare{.block_m = 64, .block_n = 64, .block_k = 64, .consumers = 1, .stages = 2, .cluster_m = 2, .cluster_n = 2};
// clang-format on

template <KernelTypes kTypes, auto kConfig, Widths kWidths, bool kReadsC, Op kOpB = Op::t, Epilogue kEpilogue = kNone>
GemmKernel kernel() {
  return product_kernel<kGroups, kTypes, kConfig, kWidths, kReadsC, kOpB, kEpilogue>();
}

/// The kernel for masked groups with such traits.
constexpr GemmTraits masked(GemmTraits traits) {
  traits.batched = traits.grouped = traits.masked = true;
  return traits;
}
constexpr GemmTraits along_k(GemmTraits traits) {
  traits.batched = traits.grouped = traits.along_k = true;
  traits.op_a = Op::t, traits.op_b = Op::n;
  return traits;
}
template <GemmTraits kTraits, auto kConfig>
GemmKernel kernel() {
  return kernel_of<kTraits, kConfig>();
}
constexpr GemmTraits kAnywhere{.reads_c = true, .vec_a = 1, .vec_b = 1, .vec_d = 1, .epilogue = kIndexed};
constexpr GemmTraits kWide{.element = DType::bf16, .op_b = Op::t};
constexpr GemmTraits kWideExtras{.reads_c = true, .epilogue = kExtras};

}  // namespace

const std::vector<GemmKernel>& grouped_kernels() {
  static const std::vector<GemmKernel> all = {
      kernel<kF16, kSimt, Widths{1, 1}, true, Op::n>(),
      kernel<kBf16, kSimt, Widths{1, 1}, true, Op::t, kAll>(),
      kernel<kF32, kFma, Widths{2, 2}, false>(),
      kernel<kF16, kMma, Widths{8, 8}, true>(),
      kernel<kBf16, kMma, Widths{1, 1}, false, Op::n, kColumns>(),
      kernel<kF16, kWmma, Widths{8, 8}, true>(),
      kernel<kF16, kBulk, Widths{8, 8}, false>(),  // D by the copy engine, but for the ends of groups
      kernel<kBf16, kBulk, Widths{8, 8}, true, Op::t, kAll>(),
      kernel<kBf16, kPingPong, Widths{8, 1}, true>(),     // D by lanes, at any alignment
      kernel<kF16, kBelow, Widths{8, 8}, true, Op::n>(),  // blocks of a cluster share B
      kernel<kF16, kBeside, Widths{8, 8}, false>(),       // and A
      kernel<kF16, kSquare, Widths{8, 8}, true>(),        // and both
      kernel<kBf16, kDown, Widths{8, 8}, false>(),        // transposed
      kernel<kF16ToF32, kBulk, Widths{8, 4}, true>(),     // by the copy engine, from 32 bits
      kernel<kS8, kBytes, Widths{16, 16}, false>(),       // right from registers
      kernel<kF16, kSimt, Widths{1, 1}, false, Op::n, kIndexed>(),
      kernel<kBf16, kBulk, Widths{8, 8}, false, Op::t, kExtras>(),
      kernel<kBf16, kMma, Widths{8, 8}, false, Op::t, kGated>(),
      kernel<kF16, kHalves, Widths{8, 8}, false, Op::n, kGated>(),
  };
  return all;
}

const std::vector<GemmKernel>& masked_kernels() {
  static const std::vector<GemmKernel> all = {
      kernel<masked(kAnywhere), kSimt>(),     // elements by lanes
      kernel<masked(kWide), kBulk>(),         // D by the copy engine
      kernel<masked(kWide), kPingPong>(),     // one consumer stores while another multiplies
      kernel<masked(kWide), kDown>(),         // transposed
      kernel<masked(kWideExtras), kBelow>(),  // blocks of a cluster share B
  };
  return all;
}

const std::vector<GemmKernel>& k_grouped_kernels() {
  static const std::vector<GemmKernel> all = {
      kernel<along_k(kAnywhere), kSimt>(), kernel<along_k(kWide), kAcross>(),
      kernel<along_k(kWideExtras), kBelow>(),  // blocks of a cluster share B
  };
  return all;
}

}  // namespace hotgemm::emulate
