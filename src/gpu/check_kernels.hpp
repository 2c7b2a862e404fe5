#pragma once

#include "gpu/device_buffer.hpp"
#include "gpu/kernel_builder.hpp"
#include "gpu/loaded_kernel.hpp"
#include "gpu/operand_pool.hpp"
#include "shared/check_data.hpp"

#include <hotgemm/types.hpp>

#include <cstdint>
#include <string>

namespace hotgemm {

/// Makes operands and checks results on the GPU (templates/check.cuh), in the context current when it was made.
class CheckKernels {
 public:
  /// Builds and loads the kernels for `arch`. Throws Error.
  CheckKernels(const Driver& driver, KernelBuilder& builder, std::string_view arch);

  /// Leaves everything to the driver: for a CUDA context that is not current, or gone.
  void abandon() noexcept {
    module_.abandon();
    report_.abandon();
  }

  /// Enqueues: A, B, and C if there is one, become check data; D becomes NaN.
  void fill_check(const Problem& problem, const OperandSet& set, unsigned seed, CUstream stream) const;
  /// Enqueues: the elements of an m×n matrix become the check data of C.
  void fill_check_c(const Problem& problem, CUdeviceptr matrix, std::int64_t ld, unsigned seed, CUstream stream) const;
  /// Enqueues: A, B, and C if there is one, become N(0,1).
  void fill_normal(const Problem& problem, const OperandSet& set, unsigned seed, CUstream stream) const;
  /// Compares D with alpha * op(A) * op(B) + beta * C of the check data, and waits. Empty if all bits are right, else
  /// "N of M elements are wrong, one of them at (row, column)".
  std::string check(const Problem& problem, const OperandSet& set, unsigned seed, int alpha, int beta,
                    CUstream stream) const;
  /// A digest of all of the pool's memory, other sets and guards included, but the elements of D in `set`; waits. It is
  /// the same before and after a kernel that writes to D and nowhere else.
  std::uint64_t digest(const Problem& problem, const OperandPool& pool, const OperandSet& set, CUstream stream) const;

 private:
  void fill(CUdeviceptr matrix, DType type, std::int64_t rows, std::int64_t cols, std::int64_t ld,
            std::int64_t k_extent, FillPattern pattern, bool transposed, unsigned seed, CUstream stream) const;
  void launch(CUfunction function, std::int64_t elements, void* args, CUstream stream) const;

  const Driver& driver_;
  LoadedKernel module_;
  CUfunction fill_;
  CUfunction check_;
  CUfunction digest_;
  DeviceBuffer report_;  // a CheckReport, or a digest
};

}  // namespace hotgemm
