#pragma once

#include <hotgemm/operands.hpp>
#include <hotgemm/problem.hpp>

#include <cstdint>

struct CUstream_st;

namespace hotgemm {

/// A CUDA stream: `CUstream` and `cudaStream_t` are this type. nullptr is the legacy default stream.
using Stream = CUstream_st*;

}  // namespace hotgemm
