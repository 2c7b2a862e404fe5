#pragma once

#include <hotgemm/gemm_types.hpp>
#include <hotgemm/problem.hpp>

#include <cuda.h>

#include <cstdint>

namespace hotgemm {

/// The operands of a problem's epilogue in device memory. Those that the epilogue does not have are 0. Types and
/// lengths are those of the fields of hotgemm::Operands.
struct EpilogueSet {
  CUdeviceptr scale_a = 0;
  CUdeviceptr scale_b = 0;
  CUdeviceptr scale_d = 0;
  CUdeviceptr scalars = 0;  ///< two f32: alpha, beta
  CUdeviceptr bias = 0;
  CUdeviceptr residual = 0;
  CUdeviceptr auxiliary = 0;
  std::int64_t ld_scale_a = 0;  ///< of blocks
  std::int64_t ld_scale_b = 0;
  std::int64_t ld_residual = 0;
  std::int64_t ld_auxiliary = 0;
  std::int64_t stride_residual = 0;  ///< from one matrix of a batch to the next, in elements
  std::int64_t stride_auxiliary = 0;
  CUdeviceptr amax = 0;
  CUdeviceptr bias_gradient = 0;
  CUdeviceptr operands[EpilogueFunction::kMostOperands] = {};          ///< of the function
  std::int64_t ld_operands[EpilogueFunction::kMostOperands] = {};      ///< of those that are matrices
  std::int64_t stride_operands[EpilogueFunction::kMostOperands] = {};  ///< likewise
  float clamp_low = 0, clamp_high = 0;
};

/// The arrays of a batch by pointers: the addresses of its matrices, and what divides them. 0 for other problems.
struct PointerSet {
  CUdeviceptr a = 0;
  CUdeviceptr b = 0;
  CUdeviceptr c = 0;  ///< 0 if there is no C
  CUdeviceptr d = 0;
  int align_a = 0;
  int align_b = 0;
  int align_d = 0;  ///< of C too
};

/// One copy of a problem's operands in device memory. Launches rotate through several sets, so that no launch finds its
/// operands in L2. Leading dimensions are in elements of the row-major matrices as stored.
struct OperandSet {
  CUdeviceptr a = 0;
  CUdeviceptr b = 0;
  CUdeviceptr c = 0;  ///< not read when beta is zero, and may then be 0
  CUdeviceptr d = 0;
  std::int64_t lda = 0;
  std::int64_t ldb = 0;
  std::int64_t ldc = 0;
  std::int64_t ldd = 0;
  GroupKind group_kind = GroupKind::none;  ///< of a grouped problem, whose distances are those of with_uniform_groups
  CUdeviceptr group_numbers = 0;           ///< its offsets or counts
  std::int64_t stride_a = 0;               ///< from one matrix of a batch to the next, in elements
  std::int64_t stride_b = 0;
  std::int64_t stride_c = 0;
  std::int64_t stride_d = 0;
  EpilogueSet epilogue;
  PointerSet pointers;  ///< to the matrices above

  /// The set as cuBLAS takes it: with the addresses of the arrays, if it is a batch by pointers.
  OperandSet with_arrays() const {
    OperandSet set = *this;
    if (pointers.d == 0) return set;
    set.a = pointers.a, set.b = pointers.b, set.c = pointers.c, set.d = pointers.d;
    return set;
  }
};

}  // namespace hotgemm
