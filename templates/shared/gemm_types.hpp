// An include guard, not #pragma once: the file is also installed as <hotgemm/gemm_types.hpp>.
#ifndef HOTGEMM_GEMM_TYPES_HPP
#define HOTGEMM_GEMM_TYPES_HPP

// The enumerations that host, kernels and users share, and the table of element types. No std header: NVRTC compiles
// this file with nothing installed.

namespace hotgemm {

/// Type of the elements of a matrix, or of a kernel's sums. tf32 is the type of A and B in kernels for
/// ComputeType::tf32; the matrices of such a problem are f32.
enum class DType : unsigned char { f16, bf16, f32, e4m3, e5m2, s8, s32, tf32 };

/// The operation on a row-major operand before the product: `n` reads it as stored, `t` transposes it.
enum class Op : unsigned char { n, t };

/// A factor of the product.
enum class Operand : unsigned char { a, b };

enum class Bias : unsigned char { none, per_column, per_row };
/// What is done to a value; a derivative multiplies it by the slope of its activation at the element of `auxiliary`.
enum class Activation : unsigned char {
  none,
  relu,
  gelu,
  gelu_erf,
  silu,
  sigmoid,
  tanh,
  clamp,
  drelu,
  dgelu,
  dgelu_erf,
  dsilu,
  dsigmoid,
  dtanh,
};

/// The columns of a product of 2n columns from which a gated epilogue makes column j of D, which has n. One of them,
/// the gate, goes through the activation, and then multiplies the other.
enum class Gate : unsigned char {
  none,         ///< D has all columns of the product
  halves,       ///< the gate is column j, and the other n + j
  interleaved,  ///< the gate is column 2j, and the other 2j + 1
};

/// The scale factors of an operand's elements.
enum class Scaling : unsigned char {
  none,
  tensor,         ///< one factor
  vector,         ///< a factor for each row of op(A), or each column of op(B)
  block_1x128,    ///< of A: a factor for each 128 elements along k of each row
  block_128x128,  ///< of B: a factor for each square of 128 by 128 elements
};

/// The numbers that an operand of a user's function holds in device memory: f32, but for a matrix.
enum class FunctionOperand : unsigned char {
  none,
  scalar,  ///< one number
  row,     ///< one for each row of D
  column,  ///< one for each column of D
  matrix,  ///< one for each element of D, of D's type
};

/// A function of one element that the user gives as source. Context::add_function makes this value.
struct EpilogueFunction {
  static constexpr int kMostOperands = 4;  ///< that the source may name

  unsigned short digest[3] = {};  ///< the first 48 bits of SHA-256 over the source
  unsigned short operands = 0;    ///< four bits for each operand, the lowest for the first: a FunctionOperand

  /// The kind of operand `index`, from 0.
  constexpr FunctionOperand operand(int index) const {
    return static_cast<FunctionOperand>(operands >> (4 * index) & 0xf);
  }
  /// The function as one number: the digest, then the operands. 0 is no function.
  constexpr unsigned long long number() const {
    unsigned long long bits = 0;
    for (const unsigned short part : digest) bits = bits << 16 | part;
    return bits << 16 | operands;
  }
  /// The function whose number() is `number`.
  static constexpr EpilogueFunction of(unsigned long long number) {
    const auto part = [&](int index) { return static_cast<unsigned short>(number >> (16 * index)); };
    return {{part(3), part(2), part(1)}, part(0)};
  }
  friend constexpr bool operator==(const EpilogueFunction&, const EpilogueFunction&) = default;
};

/// The operations on a sum before it is stored, in this order and each in f32:
///
///   value = alpha * scale_a * scale_b * sum     factors of the whole product first, then those of the row, the column
///   value = value + beta * C                    fused, as without an epilogue
///   value = value + bias
///   auxiliary = value                           rounded to the type of D; or a bit: whether the value is 0 or more
///   value = activation(value)                   or its derivative at auxiliary, or the user's function
///   value = value * other value                 with a gate: up to here each of the two columns has a value
///   value = value + residual
///   amax = max(amax, |value|)
///   bias_gradient = bias_gradient + value       of f32, with one number for each column of D or for each row
///   D = value * scale_d                         rounded to the type of D
///
/// Scales of blocks are factors within the sum: the sum over each 128 products, times (scale_a * scale_b), is added to
/// those before, fused.
struct Epilogue {
  Scaling scale_a = Scaling::none;
  Scaling scale_b = Scaling::none;
  Bias bias = Bias::none;
  bool aux = false;  ///< the value before the activation is stored too
  Activation activation = Activation::none;
  Gate gate = Gate::none;  ///< half of the columns, after the activation, multiply the other half
  bool residual = false;
  bool amax = false;                ///< the largest absolute value is stored too
  bool scale_d = false;             ///< one factor for D
  bool scalars = false;             ///< alpha, beta or both are read from device memory
  EpilogueFunction function;        ///< in place of the activation
  bool bits = false;                ///< the auxiliary matrix of relu or drelu has one bit for each element
  Bias bias_gradient = Bias::none;  ///< the sums of the columns of D, or of its rows, are added up too

  /// True if there is a function in place of the activation.
  constexpr bool has_function() const { return function != EpilogueFunction{}; }
  /// True if the activation needs the limits of a clamp.
  constexpr bool has_clamp() const { return activation == Activation::clamp; }
  /// True if the auxiliary matrix, which a forward pass has written, is read.
  constexpr bool reads_auxiliary() const { return activation >= Activation::drelu && activation <= Activation::dtanh; }
  /// True if there is an auxiliary matrix, written or read.
  constexpr bool has_auxiliary() const { return aux || reads_auxiliary(); }
  /// True if the auxiliary matrix has bits, which are written.
  constexpr bool writes_bits() const { return aux && bits; }
  /// True if the auxiliary matrix has bits, which are read.
  constexpr bool reads_bits() const { return reads_auxiliary() && bits; }
  /// The number of matrices beside C that are read, of elements of D's type.
  constexpr int matrices_read() const {
    int count = (residual ? 1 : 0) + (reads_auxiliary() && !bits ? 1 : 0);
    for (int i = 0; i < EpilogueFunction::kMostOperands; ++i) {
      if (function.operand(i) == FunctionOperand::matrix) ++count;
    }
    return count;
  }
  /// True if D has half the columns of the product.
  constexpr bool is_gated() const { return gate != Gate::none; }
  /// The columns of D that are made from so many columns of the product.
  template <class Count>
  constexpr Count columns_of_d(Count columns) const {
    return is_gated() ? columns / 2 : columns;
  }
  /// True if an operation on sums has operands in ExtraArgs.
  constexpr bool has_extras() const { return has_function() || has_clamp() || amax || bias_gradient != Bias::none; }
  /// True if blocks of A and B have scales, by which sums over 128 products are multiplied.
  constexpr bool has_block_scales() const { return scale_a > Scaling::vector || scale_b > Scaling::vector; }
  /// True if kernels take a parameter of type WithExtras.
  constexpr bool takes_extras() const { return has_extras() || has_block_scales(); }
  friend constexpr bool operator==(const Epilogue&, const Epilogue&) = default;
};

/// The values of CUtensorMapDataType that are in use. src/gpu/tensor_map.cpp asserts that they are the driver's.
enum class TensorMapType : unsigned char {
  uint8 = 0,
  int32 = 3,
  float16 = 6,
  float32 = 7,
  bfloat16 = 9,
  tfloat32 = 11
};

/// The values of cudaDataType that are in use. src/gpu/cublas.cpp asserts that they are CUDA's.
enum class CudaType : unsigned char {
  r_32f = 0,
  r_16f = 2,
  r_8i = 3,
  r_32i = 10,
  r_16bf = 14,
  r_8f_e4m3 = 28,
  r_8f_e5m2 = 29
};

/// The bytes of an element; 0 for any other number. It has a switch of its own, which takes a few instructions:
/// choosing a kernel asks thousands of times.
constexpr int size_bytes(DType type) {
  switch (type) {
    case DType::e4m3:
    case DType::e5m2:
    case DType::s8: return 1;
    case DType::f16:
    case DType::bf16: return 2;
    case DType::f32:
    case DType::tf32:
    case DType::s32: return 4;
  }
  return 0;
}

/// Other facts about an element type.
struct ElementType {
  const char* name = nullptr;  ///< in text and in rendered kernels: the enumerator's name
  double unit_roundoff = 0;    ///< half the distance from 1 to the next larger number; zero for integers
  double half_subnormal = 0;   ///< half the smallest positive number
  TensorMapType tensor_map = TensorMapType::uint8;
  CudaType cuda = CudaType::r_8i;
};

/// The table of element types. A new enumerator of DType needs a row here. For any other number the result has no name.
constexpr ElementType element_type(DType type) {
  switch (type) {
    case DType::f16: return {"f16", 0x1p-11, 0x1p-25, TensorMapType::float16, CudaType::r_16f};
    case DType::bf16: return {"bf16", 0x1p-8, 0x1p-134, TensorMapType::bfloat16, CudaType::r_16bf};
    case DType::f32: return {"f32", 0x1p-24, 0x1p-150, TensorMapType::float32, CudaType::r_32f};
    case DType::e4m3: return {"e4m3", 0x1p-4, 0x1p-10, TensorMapType::uint8, CudaType::r_8f_e4m3};
    case DType::e5m2: return {"e5m2", 0x1p-3, 0x1p-17, TensorMapType::uint8, CudaType::r_8f_e5m2};
    case DType::s8: return {"s8", 0, 0.5, TensorMapType::uint8, CudaType::r_8i};
    case DType::s32: return {"s32", 0, 0.5, TensorMapType::int32, CudaType::r_32i};
    case DType::tf32: return {"tf32", 0x1p-11, 0x1p-137, TensorMapType::tfloat32, CudaType::r_32f};
  }
  return {};
}

/// True for floating-point numbers of 16 and 32 bits.
constexpr bool is_wide_float(DType type) { return type == DType::f16 || type == DType::bf16 || type == DType::f32; }
constexpr bool is_fp8(DType type) { return type == DType::e4m3 || type == DType::e5m2; }
constexpr bool is_integer(DType type) { return type == DType::s8 || type == DType::s32; }

/// The number of element types, which are numbered from 0.
constexpr int count_element_types() {
  int count = 0;
  while (size_bytes(static_cast<DType>(count)) != 0) ++count;
  return count;
}
inline constexpr int kElementTypes = count_element_types();

/// Rows of a matrix of bits begin at multiples of so many bits, and so does the matrix. cuBLASLt has the same rule.
inline constexpr int kBitRowUnit = 128;

/// The elements along k of a block that has a scale, and the columns of a block of B.
inline constexpr int kScaleBlock = 128;

/// The type of the bias of a D of type `result`: D's own, but bf16 for FP8, and f32 for s8.
constexpr DType bias_type(DType result) {
  if (size_bytes(result) > 1) return result;
  return is_fp8(result) ? DType::bf16 : DType::f32;
}

}  // namespace hotgemm

#endif  // HOTGEMM_GEMM_TYPES_HPP
