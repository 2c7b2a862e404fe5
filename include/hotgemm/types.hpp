#pragma once

#include <hotgemm/export.hpp>
#include <hotgemm/problem.hpp>

#include <cstdint>

struct CUstream_st;

namespace hotgemm {

/// A CUDA stream: `CUstream` and `cudaStream_t` are this type. nullptr is the legacy default stream.
using Stream = CUstream_st*;

/// The operands of one call. Leading dimensions are in elements of the matrices as stored.
///
/// C may be null when beta is zero, A and B when alpha or k is zero. D may be C itself with ldc == ldd.
struct Operands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c = nullptr;
  void* d = nullptr;
  std::int64_t lda = 0;
  std::int64_t ldb = 0;
  std::int64_t ldc = 0;
  std::int64_t ldd = 0;
  float alpha = 1.0f;
  float beta = 0.0f;
};

}  // namespace hotgemm
