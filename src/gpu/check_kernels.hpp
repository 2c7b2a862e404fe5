#pragma once

#include "gpu/device_buffer.hpp"
#include "gpu/kernel_builder.hpp"
#include "gpu/loaded_kernel.hpp"
#include "gpu/operand_pool.hpp"
#include "shared/check_data.hpp"

#include <hotgemm/types.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace hotgemm {

/// Fills operands and checks results on the GPU (templates/check.cuh), in the context that was current at construction.
/// The matrices of a batch lie behind each other as in OperandPool, and each product has data of its own. Groups are
/// the uniform ones of OperandPool, each filled and checked as a product of a batch.
class CheckKernels {
 public:
  /// Loads the kernels from `cubin`, which is that of render_check. Throws RefusedCubin and other Errors.
  CheckKernels(const Driver& driver, const Cubin& cubin);

  /// Unloads the kernels and frees their memory now. The CUDA context must be current.
  void unload() noexcept {
    module_.unload();
    report_ = {};
  }
  /// Leaves module and memory to the driver, because the CUDA context is not current or no longer exists.
  void abandon() noexcept {
    module_.abandon();
    report_.abandon();
  }

  /// Enqueues the fill with check data of A, B and, if present, C; D gets unwritten_byte, and scales of blocks powers
  /// of two whose products are 1; it waits for these.
  void fill_check(const Problem& problem, const OperandSet& set, unsigned seed, CUstream stream) const;
  /// Enqueues the fill of an m×n matrix with the check data of C.
  void fill_check_c(const Problem& problem, CUdeviceptr matrix, std::int64_t ld, unsigned seed, CUstream stream) const;
  /// Fills the operands of the epilogue, if `set` has any, and waits. Bias and matrices that are read get N(0,1),
  /// scales and the other operands of a function numbers from 0.5 to 1.5, the scalars `alpha` and `beta`, amax 0; the
  /// auxiliary output gets unwritten_byte.
  void fill_epilogue(const Problem& problem, const OperandSet& set, float alpha, float beta, unsigned seed,
                     CUstream stream) const;
  /// Enqueues the fill with N(0,1) of A, B and, if present, C. Also fills the operands of an epilogue; the scalars are
  /// 1, but beta is 0 if there is no C.
  void fill_normal(const Problem& problem, const OperandSet& set, unsigned seed, CUstream stream) const;
  /// Compares D with alpha * op(A) * op(B) + beta * C of the check data, and waits. Returns an empty string if all bits
  /// are right, else "N of M elements are wrong, one of them at (row, column)", with the product of a batch.
  std::string check(const Problem& problem, const OperandSet& set, unsigned seed, int alpha, int beta,
                    CUstream stream) const;
  /// Returns a digest of the memory of the pool, including other sets and guards, but without the elements of D in
  /// `set`; waits. A kernel that writes only to D leaves the digest unchanged.
  std::uint64_t digest(const Problem& problem, const OperandPool& pool, const OperandSet& set, CUstream stream) const;
  /// Enqueues a pointwise change of the f32 numbers of a buffer. No programmatic launch begins before its end.
  void pointwise(CUdeviceptr buffer, std::size_t bytes, CUstream stream) const;

 private:
  /// A row-major matrix for each product.
  struct Filled {
    CUdeviceptr address;
    std::int64_t ld;
    std::int64_t stride;
  };
  void fill(const Filled& matrix, DType type, std::int64_t rows, std::int64_t cols, const Problem& problem,
            FillPattern pattern, bool transposed, unsigned seed, CUstream stream) const;
  void fill_check_scales(const Problem& problem, const EpilogueSet& set, CUstream stream) const;
  void fill_a_and_b(const Problem& problem, const OperandSet& set, FillPattern of_a, unsigned seed_a, FillPattern of_b,
                    unsigned seed_b, CUstream stream) const;
  void launch(CUfunction function, std::int64_t elements, void* args, CUstream stream) const;

  const Driver& driver_;
  LoadedKernel module_;
  CUfunction fill_;
  CUfunction check_;
  CUfunction digest_;
  CUfunction pointwise_;
  DeviceBuffer report_;  // a CheckReport, or a digest
};

}  // namespace hotgemm
