#include "emulate/kernels/utility_kernels.hpp"

#include "emulate/emulated_wgmma.hpp"

#include "check.cuh"
#include "mma_ceiling.cuh"
#include "repack.cuh"
#include "wgmma_ceiling.cuh"

#include <hotgemm/error.hpp>
#include <hotgemm/problem.hpp>

namespace hotgemm::emulate {
namespace {

template <DType kElement, DType kAccumulator>
void run_ceiling_of(CeilingInstruction instruction, const CeilingArgs& args) {
  if (instruction == CeilingInstruction::wgmma) {
    using Instruction = EmulatedWgmma<kCeilingTileB.outer, kElement, kAccumulator, true, true>;
    wgmma_ceiling<kElement, kAccumulator, Instruction>(args);
  } else if constexpr (size_bytes(kElement) == 2) {
    mma_ceiling<kElement, kAccumulator>(args);
  }
}

}  // namespace

void run_fill(const FillArgs& args) { fill(args); }
void run_check(const CheckArgs& args) { check(args); }
void run_repack(const RepackArgs& args) { repack(args); }
void run_ceiling(const CeilingKind& kind, const CeilingArgs& args) {
  switch (kind.element) {
    case DType::bf16: return run_ceiling_of<DType::bf16, DType::f32>(kind.instruction, args);
    case DType::f16:
      if (kind.accumulator == DType::f16) return run_ceiling_of<DType::f16, DType::f16>(kind.instruction, args);
      return run_ceiling_of<DType::f16, DType::f32>(kind.instruction, args);
    case DType::tf32: return run_ceiling_of<DType::tf32, DType::f32>(kind.instruction, args);
    case DType::e4m3: return run_ceiling_of<DType::e4m3, DType::f32>(kind.instruction, args);
    case DType::e5m2: return run_ceiling_of<DType::e5m2, DType::f32>(kind.instruction, args);
    case DType::s8: return run_ceiling_of<DType::s8, DType::s32>(kind.instruction, args);
    case DType::f32:
    case DType::s32: break;
  }
  throw Error(ErrorCode::not_supported, "no ceiling kernel multiplies " + std::string(to_string(kind.element)));
}

}  // namespace hotgemm::emulate
