#pragma once

#include "config/device_info.hpp"
#include "config/kernel_config.hpp"
#include "config/work.hpp"

#include <hotgemm/types.hpp>

#include <optional>
#include <string_view>

// The roofline of a kernel: the lower of the peak of its arithmetic units and of the rate that memory allows. Traffic
// counts each element as often as blocks read it, without any cache. L1 and L2 serve most of the elements that several
// blocks read, so a kernel may be faster than this bound of memory. The bound shows how much the next level of reuse
// must save. The issue of loads, shared memory and latency are not counted: `sliced_k` issues two loads for a
// multiply-add and is bound by that, far below both.

namespace hotgemm {

/// The arithmetic units that multiply.
enum class Pipe { cuda_f32, cuda_f16, cuda_s32, tensor_f32, tensor_f16, tensor_s32, tensor_tf32 };
/// "CUDA cores f32", "tensor cores f16", ...: the type is that of the sums, but for TF32.
std::string_view to_string(Pipe pipe);
/// The pipe of a kernel with `config`. Without a config: the pipe of cuBLAS, which uses tensor cores for every type but
/// f32.
Pipe pipe_of(const std::optional<KernelConfig>& config, const GemmTraits& traits);
/// Dense TFLOP/s of all SMs at the clock rate of `device`.
double peak_tflops(Pipe pipe, const DeviceInfo& device);

/// FLOP that a GPU can do per byte from DRAM. A kernel with a lower intensity is limited by memory.
double device_ratio(double peak_tflops, double dram_gbps);

/// The part of D for which rows of A and columns of B are read once. It is the tile of a block or of a cluster, or of a
/// thread if the kernel does not use shared memory.
struct ReuseTile {
  int rows;
  int cols;
};
ReuseTile reuse_tile(const KernelConfig& config, const GemmTraits& traits);
/// The smallest possible traffic of the problem: one read of each element of A and B, one of C if beta is not zero, and
/// one write of D.
double least_bytes(const Workload& problem);
/// Bytes that a kernel reads and writes in global memory if it reads A and B once for each tile.
double traffic_bytes(const ReuseTile& tile, const Workload& problem);

struct Roofline {
  Pipe pipe = Pipe::cuda_f32;
  double traffic_bytes = 0;      ///< of the kernel; for cuBLAS, whose tiles are unknown, least_bytes of the problem
  double intensity = 0;          ///< FLOP per byte of traffic
  double problem_intensity = 0;  ///< FLOP per byte of least_bytes: no kernel has more
  double peak_tflops = 0;        ///< of the pipe
  double device_ratio = 0;       ///< FLOP/B
  double bound_tflops = 0;       ///< the lower of peak_tflops and intensity times the DRAM rate
  bool is_compute_bound = false;
};

Roofline roofline(const std::optional<KernelConfig>& config, const Workload& problem, const DeviceInfo& device);

}  // namespace hotgemm
