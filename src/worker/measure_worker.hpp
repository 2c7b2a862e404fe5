#pragma once

#include <hotgemm/context.hpp>

namespace hotgemm {

struct MeasureWorkerOptions {
  ContextOptions context;
  int device = 0;          ///< index in the driver's order, from 0
  bool allow_mps = false;  ///< measure even if other processes use the GPU through MPS
};

/// The main loop of a worker: answers the requests of IsolatedMeasurer on stdin until the process ends. It ends when
/// its parent is gone, and after any error that destroyed the CUDA context. Throws Error{invalid_argument} if stdin is
/// not connected to a parent.
[[noreturn]] void run_measure_worker(const MeasureWorkerOptions& options);

}  // namespace hotgemm
