// An include guard, not #pragma once: the file is also installed as <hotgemm/gemm_types.hpp>.
#ifndef HOTGEMM_GEMM_TYPES_HPP
#define HOTGEMM_GEMM_TYPES_HPP

// The enumerations that host, kernels and users share. No std header: NVRTC compiles this file with nothing installed.

namespace hotgemm {

/// Element type of A, B, C and D, and type of the accumulator.
enum class DType : unsigned char { f16, bf16, f32 };

/// The operation on a row-major operand before the product: `n` reads it as stored, `t` transposes it.
enum class Op : unsigned char { n, t };

constexpr int size_bytes(DType dtype) { return dtype == DType::f32 ? 4 : 2; }

}  // namespace hotgemm

#endif  // HOTGEMM_GEMM_TYPES_HPP
