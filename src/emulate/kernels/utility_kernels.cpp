#include "emulate/kernels/utility_kernels.hpp"

#include "emulate/emulated_wgmma.hpp"

#include "check.cuh"
#include "mma_ceiling.cuh"
#include "wgmma_ceiling.cuh"

namespace hotgemm::emulate {
namespace {

template <DType kElement, DType kAccumulator>
void run_ceiling_of(CeilingInstruction instruction, const CeilingArgs& args) {
  if (instruction == CeilingInstruction::wgmma) {
    using Instruction = EmulatedWgmma<kCeilingTileB.outer, kElement, kAccumulator, true, true>;
    wgmma_ceiling<kElement, kAccumulator, Instruction>(args);
  } else {
    mma_ceiling<kElement, kAccumulator>(args);
  }
}

}  // namespace

void run_fill(const FillArgs& args) { fill(args); }
void run_check(const CheckArgs& args) { check(args); }
void run_ceiling(const CeilingKind& kind, const CeilingArgs& args) {
  if (kind.element == DType::bf16) {
    run_ceiling_of<DType::bf16, DType::f32>(kind.instruction, args);
  } else if (kind.accumulator == DType::f16) {
    run_ceiling_of<DType::f16, DType::f16>(kind.instruction, args);
  } else {
    run_ceiling_of<DType::f16, DType::f32>(kind.instruction, args);
  }
}

}  // namespace hotgemm::emulate
