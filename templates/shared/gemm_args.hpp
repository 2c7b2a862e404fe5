#pragma once

namespace hotgemm {

/// The parameter of every GEMM kernel: D = alpha * op(A) * op(B) + beta * C, row-major.
///
/// Addresses are plain 64-bit numbers, so that kernels access memory only through the functions of `ptx/`. For a batch
/// by pointers those of A, B, C and D are the addresses of arrays, or 0 where no matrix is read.
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

/// The operands of an epilogue: addresses, and leading dimensions in elements. Those that the traits do not name are
/// not read. An `alpha` or `beta` of 0 means that of GemmArgs.
struct EpilogueArgs {
  unsigned long long alpha;
  unsigned long long beta;
  unsigned long long scale_a;
  unsigned long long scale_b;
  unsigned long long scale_d;
  unsigned long long bias;
  unsigned long long residual;
  unsigned long long auxiliary;
  long long ld_residual;
  long long ld_auxiliary;
};

/// The parameter of a fused kernel, whose traits have an epilogue: that of the family's other kernels, and more.
template <class Args>
struct Fused : Args {
  alignas(Args) EpilogueArgs epilogue;  // behind all of Args: compilers differ in whether they use padding at its end
};

/// A batch: `count` products, whose matrices lie at equal distances. Distances are in elements; one of 0 means that all
/// products share the matrix.
struct BatchArgs {
  long long stride_a;
  long long stride_b;
  long long stride_c;
  long long stride_d;
  long long stride_residual;
  long long stride_auxiliary;
  unsigned count;
};

/// The parameter of a kernel for batches.
template <class Args>
struct Batched : Fused<Args> {
  alignas(Args) BatchArgs batch;
};

/// Groups: the products of a batch of `batch.count`. Kernels read their sizes, and ignore the distances of matrices
/// that the groups divide.
struct GroupArgs {
  unsigned long long offsets;  ///< address of an int for the first row (or k) of each group, and one for the last's end
  unsigned long long counts;   ///< of masked groups: address of an int for the rows of each
  long long stride_bias;       ///< from the bias of a group to that of the next one, in elements
};

/// The parameter of a kernel for groups.
template <class Args>
struct Grouped : Batched<Args> {
  alignas(Args) GroupArgs groups;
};

/// The operands of those parts of an epilogue that few kernels have, and the distances of block scales.
struct ExtraArgs {
  unsigned long long operands[4];  ///< of a user's function: addresses
  long long product;               ///< its number in a batch, for the function; kernels for batches set it
  float low;                       ///< the limits of a clamp
  float high;
  unsigned long long amax;           ///< address of an f32
  long long ld[4];                   ///< of those operands that are matrices: leading dimensions in elements
  long long stride[4];               ///< their distances in a batch, in elements
  long long ld_scale_a;              ///< of block scales: numbers from one block of k to the next,
  long long ld_scale_b;              ///< from one block of columns to the next,
  long long stride_scale_b;          ///< and from the scales of one product's B to those of the next
  long long stride_scale_a;          ///< the same of A; not of groups that have rows of one A
  unsigned long long bias_gradient;  ///< address of an f32 for each column of D, or for each row
};

/// The parameter of a kernel whose epilogue has a part of this kind.
template <class Args>
struct WithExtras : Grouped<Args> {
  alignas(Args) ExtraArgs extras;
};

}  // namespace hotgemm
