#pragma once

#include "emulate/instruction.hpp"

#include <cstdint>

namespace hotgemm::emulate {

// wmma.*, for the running thread. On a GPU a fragment is opaque: it is unspecified which lane holds which elements.
// Here the lanes get the elements in their order in memory. So a fragment that was loaded by rows and multiplied by
// columns, or with another shape, gives a wrong product.

/// One operand of a product in memory: `count` rows (or columns) of `length` contiguous elements.
struct WmmaLines {
  int count;
  int length;
};

/// wmma.load of A or B into `registers` registers of each lane. Elements repeat if there are more places than elements.
/// Each line must start at a multiple of 16 bytes (templates/ptx/wmma.hpp).
void wmma_load(Instruction instruction, WmmaLines lines, std::uint32_t* r, int registers, std::uint32_t shared,
               int stride);

/// wmma.load of 16 × 16 elements in global memory. The first line must start at a multiple of 32 bytes.
void wmma_load_global(Instruction instruction, std::uint32_t* r, int registers, std::uint64_t global, int stride);

/// The properties that distinguish one wmma.mma from another.
struct WmmaShape {
  int m;       ///< 16, 32 or 8
  bool row_a;  ///< A was loaded by rows
  bool row_b;
  int registers_a;
  int registers_b;
};

/// wmma.mma with f32 accumulators. Sums are computed as in mma_m16n8k16.
void wmma_mma(Instruction instruction, const WmmaShape& shape, float (&d)[8], const std::uint32_t* a,
              const std::uint32_t* b);
/// wmma.mma with f16 accumulators.
void wmma_mma(Instruction instruction, const WmmaShape& shape, std::uint32_t (&d)[4], const std::uint32_t* a,
              const std::uint32_t* b);

/// wmma.store.d by rows. Each row starts at a multiple of the bytes that a lane holds: 32 bytes of f32, 16 of f16.
void wmma_store(int m, std::uint32_t shared, const float (&d)[8], int stride);
void wmma_store(int m, std::uint32_t shared, const std::uint32_t (&d)[4], int stride);

}  // namespace hotgemm::emulate
