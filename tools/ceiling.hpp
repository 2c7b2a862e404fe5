#pragma once

#include "bench.hpp"
#include "device_state.hpp"
#include "gpu/device_buffer.hpp"
#include "gpu/loaded_kernel.hpp"
#include "gpu/stopwatch.hpp"

namespace hotgemm::command {

/// mma.sync from registers, with nothing to load (templates/ceiling.cuh): what no kernel of family mma can exceed.
class Ceiling {
 public:
  /// In the current CUDA context. Throws Error, not_supported where the GPU has no such instruction.
  explicit Ceiling(DeviceState& device);

  /// TFLOP/s with the chip to itself, warm. `accumulator` is f32 or f16.
  double measure(DType accumulator, CUstream stream) const;
  /// Races `ours` against it, round by round, so that both run at the same clock, and fills in the fields of `result`
  /// that speak of the ceiling.
  void race(const Contender& ours, int sets, const BenchOptions& options, CUstream stream, BenchResult& result) const;

 private:
  Contender contender(DType accumulator) const;
  double tflops(double us) const;

  const Driver& driver_;
  int blocks_;
  LoadedKernel kernel_;
  DeviceBuffer results_;
};

}  // namespace hotgemm::command
