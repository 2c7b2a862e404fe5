#pragma once

#include <hotgemm/context.hpp>

namespace hotgemm {

struct MeasureWorkerOptions {
  ContextOptions context;
  int device = 0;          ///< counted from 0 as the driver does
  bool allow_mps = false;  ///< measure although other processes use the GPU through MPS
};

/// A worker's life: answers IsolatedMeasurer's requests on stdin until the process ends, which it does when its parent
/// is gone, and after any error that has taken the CUDA context with it. Throws Error{invalid_argument} where stdin is
/// not a parent's.
[[noreturn]] void run_measure_worker(const MeasureWorkerOptions& options);

}  // namespace hotgemm
