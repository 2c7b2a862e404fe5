#pragma once

#include "gpu/device_buffer.hpp"
#include "gpu/loaded_kernel.hpp"
#include "gpu/stopwatch.hpp"
#include "runtime/device_state.hpp"
#include "shared/ceiling_args.hpp"
#include "tune/bench.hpp"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm::command {

/// TFLOP/s by name.
using CeilingRates = std::vector<std::pair<std::string, double>>;

/// The rate of the tensor cores with one instruction and nothing to load (templates/mma_ceiling.cuh,
/// wgmma_ceiling.cuh). No kernel that uses the instruction can exceed it.
class Ceiling {
 public:
  /// The ceiling instructions of the GPU of the current CUDA context, the highest first. Throws Error{not_supported} if
  /// the GPU has none, and other errors.
  static std::vector<CeilingInstruction> instructions(const DeviceState& device);

  /// Made for the current CUDA context.
  Ceiling(DeviceState& device, CeilingInstruction instruction);

  /// True if a ceiling kernel multiplies the elements of A by those of B.
  bool serves(const Workload& problem) const;
  /// "wgmma from shared memory"
  std::string name() const;
  /// The rates alone on the chip and warm: "f32" and "f16" of sums of f16 elements, and then of elements of other
  /// types.
  CeilingRates rates_alone(CUstream stream);
  /// Races `ours` against the ceiling, round by round, so that both run at the same clock rate. Fills in the ceiling
  /// fields of `result`.
  void race(const Contender& ours, int sets, const BenchOptions& options, CUstream stream, BenchResult& result);

 private:
  /// Returns the contender for these types. Builds and loads its kernel at the first use.
  Contender contender(DType element, DType accumulator);
  double measure(DType element, DType accumulator, CUstream stream);
  /// The operations of a launch.
  double flops_of(DType element) const;

  DeviceState& device_;
  const Driver& driver_;
  CeilingInstruction instruction_;
  int blocks_;
  std::map<std::pair<DType, DType>, LoadedKernel> kernels_;  ///< keyed by the types of elements and accumulator
  DeviceBuffer results_;
};

}  // namespace hotgemm::command
