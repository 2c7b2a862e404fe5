#pragma once

namespace hotgemm {

/// The only parameter of every GEMM kernel: D = alpha * op(A) * op(B) + beta * C, row-major.
///
/// Addresses are plain 64-bit numbers, so that kernels access memory only through the functions of `ptx/`.
struct GemmArgs {
  unsigned long long a;
  unsigned long long b;
  unsigned long long c;  ///< not read by kernels rendered with reads_c == false
  unsigned long long d;
  long long lda;  ///< leading dimensions in elements, of the matrices as stored
  long long ldb;
  long long ldc;
  long long ldd;
  int m;
  int n;
  int k;
  float alpha;  ///< a whole number if D is s32, and so is beta
  float beta;
  int raster_width;    ///< tiles per raster group, at least 1
  int raster_along_n;  ///< 0: groups of tile rows; 1: groups of tile columns
};

}  // namespace hotgemm
