#pragma once

#include "shared/gemm_traits.hpp"

#include <hotgemm/problem.hpp>

#include <string>

namespace hotgemm {

/// The type of sums that kernels hold for a compute type.
constexpr DType sum_type(ComputeType compute) {
  switch (compute) {
    case ComputeType::f32:
    case ComputeType::tf32: return DType::f32;
    case ComputeType::f16: return DType::f16;
    case ComputeType::s32: return DType::s32;
  }
  return DType::f32;
}

/// The type in which kernels multiply an operand's elements: that of the matrix, but for TF32.
constexpr DType multiplied_type(DType element, ComputeType compute) {
  return element == DType::f32 && compute == ComputeType::tf32 ? DType::tf32 : element;
}
/// The type of the matrix: the inverse of multiplied_type.
constexpr DType stored_type(DType multiplied) { return multiplied == DType::tf32 ? DType::f32 : multiplied; }

/// The traits that `problem` fixes for its kernels. Throws Error{not_supported} as `require_supported`.
GemmTraits traits_of(const Workload& problem);

/// The types of the problems that kernels of these traits compute.
Types types_of(const GemmTraits& traits);

/// The workload of this size for which `traits` are made: the inverse of traits_of. A batch has two products.
Workload workload_of(const GemmTraits& traits, std::int64_t m, std::int64_t n, std::int64_t k);

/// A text such as "f16_f32_nt_a8b8d8_c0", which is part of a kernel's symbol. B and D are named where their types
/// differ from that of A: "e4m3xe5m2_f32tobf16_nt_a16b16d8_c0". "_batch", "_pointers" or "_group", and the epilogue
/// follow.
std::string to_string(const GemmTraits& traits);

/// The bytes that a kernel may spill and still be picked. ptxas spills a few registers around long epilogues, although
/// registers are left; main loops are not concerned.
constexpr int most_spill_bytes(const Problem& problem) { return problem.epilogue == Epilogue{} ? 0 : 64; }

}  // namespace hotgemm
