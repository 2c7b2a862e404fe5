#pragma once

// The parts of a kernel of family `wgmma`, as its config and traits choose them. docs/kernels/wgmma.md says what each
// part decides.

#include "fused_sum.cuh"
#include "shared/wgmma_config.hpp"
#include "wgmma_direct.cuh"
#include "wgmma_epilogue.cuh"
#include "wgmma_load.cuh"
#include "wgmma_promotion.cuh"
#include "wgmma_schedule.cuh"
#include "wgmma_sink.cuh"
#include "wgmma_split.cuh"
#include "wgmma_thread_load.cuh"
#include "wgmma_transposed.cuh"

namespace hotgemm {

/// The epilogue for a config: the results go through buffers, through those of all warps, or directly to D.
template <GemmTraits kTraits, WgmmaConfig kConfig, class Op, bool kDirect = kConfig.stores_directly(kTraits),
          bool kTransposed = kConfig.transposed>
struct EpilogueOf {
  using Type = DirectEpilogue<kTraits, kConfig, Op>;
};
template <GemmTraits kTraits, WgmmaConfig kConfig, class Op>
struct EpilogueOf<kTraits, kConfig, Op, false, false> {
  using Type = WgmmaEpilogue<kTraits, kConfig, Op, typename SinkOf<kTraits, kConfig>::Type>;
};
template <GemmTraits kTraits, WgmmaConfig kConfig, class Op>
struct EpilogueOf<kTraits, kConfig, Op, false, true> {
  using Type = TransposedEpilogue<kTraits, kConfig, Op, typename SinkOf<kTraits, kConfig>::Type>;
};

/// The parts of a kernel of the family, besides its config and its instruction. A kernel that loads, divides its work
/// or stores in another way gets other parts.
template <GemmTraits kTraits, WgmmaConfig kConfig>
struct WgmmaParts {
  static constexpr Neighbours kNeighbours = kConfig.transposed ? Neighbours::down : Neighbours::across;
  // Blocks beside each other share A, those below each other B.
  using LoadA = LoadOf<Operand::a, kConfig, kTraits, kConfig.a_tile(kTraits), kTraits.vec_a, kConfig.cluster_n>;
  using LoadB = LoadOf<Operand::b, kConfig, kTraits, kConfig.b_tile(kTraits), kTraits.vec_b, kConfig.cluster_m>;
  using Schedule = typename ScheduleOf<kConfig, kTraits>::Type;
  using Promotion = typename PromotionOf<kTraits, kConfig>::Type;
  using Epilogue = typename EpilogueOf<kTraits, kConfig, typename OpOf<kTraits, kNeighbours>::Type>::Type;
};
/// The parts of a kernel whose blocks divide k. L2 drops its operands first, so that the sums of the parts stay there.
template <GemmTraits kTraits, WgmmaConfig kConfig>
struct WgmmaSplitParts : WgmmaParts<kTraits, kConfig> {
  using LoadA = TensorLoad<Operand::a, kConfig.a_tile(kTraits), kConfig.cluster_n, kConfig.cluster_m,
                           matrices_of<Operand::a, kTraits>(), true>;
  using LoadB = TensorLoad<Operand::b, kConfig.b_tile(kTraits), kConfig.cluster_m, kConfig.cluster_n,
                           matrices_of<Operand::b, kTraits>(), true>;
  using Schedule = SplitTiles<kConfig, kTraits.batched>;
  using Epilogue = SplitSum<kTraits, kConfig, typename OpOf<kTraits, Neighbours::across>::Type>;
};

}  // namespace hotgemm
