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

/// Whether ceiling kernels multiply elements of this type.
bool has_ceiling(DType element);

/// The tensor cores' rate by one instruction, with nothing to load (templates/mma_ceiling.cuh, wgmma_ceiling.cuh): what
/// no kernel that uses it can exceed.
class Ceiling {
 public:
  /// Those of the GPU of the current CUDA context, the highest first. Throws Error, not_supported where it has none.
  static std::vector<CeilingInstruction> instructions(const DeviceState& device);

  /// In the current CUDA context.
  Ceiling(DeviceState& device, CeilingInstruction instruction);

  /// "wgmma from shared memory"
  std::string name() const;
  /// TFLOP/s with the chip to itself, warm, of f16 elements. `accumulator` is f32 or f16.
  double measure(DType accumulator, CUstream stream);
  /// Races `ours` against it, round by round, so that both run at the same clock, and fills in the fields of `result`
  /// that speak of the ceiling.
  void race(const Contender& ours, int sets, const BenchOptions& options, CUstream stream, BenchResult& result);

 private:
  /// Builds and loads its kernel if it is the first of its types.
  Contender contender(DType element, DType accumulator);
  double tflops(double us) const;

  DeviceState& device_;
  const Driver& driver_;
  CeilingInstruction instruction_;
  int blocks_;
  std::map<std::pair<DType, DType>, LoadedKernel> kernels_;  ///< by types of elements and accumulator
  DeviceBuffer results_;
};

}  // namespace hotgemm::command
