#pragma once

#include "config/device_info.hpp"
#include "config/kernel_config.hpp"

#include <hotgemm/types.hpp>

#include <optional>
#include <string_view>

// The roofline of a kernel: the lower of what its arithmetic units can do and of what memory can bring them. Traffic is
// what kernels ask for, element by element as often as blocks read them: no cache is taken into account. L1 and L2
// serve most of what several blocks read, so a kernel may well be faster than memory alone would let it be; the bound
// says what the next level of reuse has to be worth.

namespace hotgemm {

/// The units that multiply.
enum class Pipe { cuda_f32, cuda_f16, tensor_f32, tensor_f16 };
/// "CUDA cores f32", "tensor cores f16", ...: the type is the one that sums are taken in.
std::string_view to_string(Pipe pipe);
/// Of a kernel of `config`, or of cuBLAS, which uses tensor cores for all but f32.
Pipe pipe_of(const std::optional<KernelConfig>& config, const GemmTraits& traits);
/// Dense TFLOP/s of all SMs at the clock of `device`.
double peak_tflops(Pipe pipe, const DeviceInfo& device);

/// FLOP that a GPU can do for each byte that DRAM can bring: a kernel of less intensity waits for memory.
double device_ratio(double peak_tflops, double dram_gbps);

/// The part of D for which rows of A and columns of B are read once: a block's tile, a cluster's, or a thread's where
/// nothing goes through shared memory.
struct ReuseTile {
  int rows;
  int cols;
};
ReuseTile reuse_tile(const KernelConfig& config, const GemmTraits& traits);

/// 2mnk.
double flops(const Problem& problem);
/// Bytes that the problem needs at least: each element of A and B read once, of C where beta is not zero, and of D
/// written.
double least_bytes(const Workload& problem);
/// Bytes that a kernel asks of global memory which reads A and B once for each tile.
double traffic_bytes(const ReuseTile& tile, const Workload& problem);

struct Roofline {
  Pipe pipe = Pipe::cuda_f32;
  double traffic_bytes = 0;      ///< of the kernel; of cuBLAS, whose tiles are its own, the problem's least
  double intensity = 0;          ///< FLOP per byte of traffic
  double problem_intensity = 0;  ///< FLOP per byte of the problem's least traffic: no kernel has more
  double peak_tflops = 0;        ///< of the pipe
  double device_ratio = 0;       ///< FLOP/B
  double bound_tflops = 0;       ///< the lower of peak and intensity times DRAM's rate
  bool is_compute_bound = false;
};

Roofline roofline(const std::optional<KernelConfig>& config, const Workload& problem, const DeviceInfo& device);

}  // namespace hotgemm
