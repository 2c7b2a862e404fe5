#pragma once

#include <hotgemm/types.hpp>

#include <cublas_v2.h>

namespace hotgemm {

/// alpha and beta in the type that cuBLAS takes for the types of a problem.
class CublasScalars {
 public:
  CublasScalars(const Types& types, float alpha, float beta)
      : compute_(types.compute == ComputeType::f16    ? CUBLAS_COMPUTE_16F
                 : types.compute == ComputeType::tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32
                 : is_integer(types.d)                ? CUBLAS_COMPUTE_32I
                                                      : CUBLAS_COMPUTE_32F),
        are_whole_(types.d == DType::s32),
        f32_{alpha, beta},
        f16_{__float2half_rn(alpha), __float2half_rn(beta)},
        s32_{whole(alpha), whole(beta)} {}

  const void* alpha() const { return at(0); }
  const void* beta() const { return at(1); }
  cublasComputeType_t compute() const { return compute_; }
  cudaDataType scale() const {
    return compute_ == CUBLAS_COMPUTE_16F ? CUDA_R_16F : are_whole_ ? CUDA_R_32I : CUDA_R_32F;
  }

 private:
  /// Zero unless the scalars are integers: other floats may be beyond them.
  int whole(float scalar) const { return are_whole_ ? static_cast<int>(scalar) : 0; }
  const void* at(int i) const {
    if (compute_ == CUBLAS_COMPUTE_16F) return &f16_[i];
    return are_whole_ ? static_cast<const void*>(&s32_[i]) : &f32_[i];
  }

  cublasComputeType_t compute_;
  bool are_whole_;
  float f32_[2];
  __half f16_[2];
  int s32_[2];
};

}  // namespace hotgemm
