#pragma once

#include "shared/gemm_traits.hpp"
#include "shared/gemm_types.hpp"
#include "shared/wgmma_config.hpp"

namespace hotgemm {

/// Work of an epilogue on each element of D, beside alpha, C and the store of D.
struct EpilogueWork {
  double instructions = 0;  ///< of a thread; those of the special function unit count by the time that they take
  int matrices_read = 0;    ///< of D's sizes and type
  double matrices = 0;      ///< the bytes that are read or written, divided by those of D
};

EpilogueWork epilogue_work(const Epilogue& epilogue);

/// True if kernels of `config` copy the next piece of a matrix while they compute the one before
/// (MatrixPieces::kAhead). Then there is a second buffer, and pieces are not joined to strips.
bool copies_ahead(const WgmmaConfig& config, const GemmTraits& traits);

}  // namespace hotgemm
