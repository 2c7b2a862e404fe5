#pragma once

#include "emulate/tensor_map.hpp"
#include "emulate/thread.hpp"

#include <cstdint>
#include <optional>

namespace hotgemm::emulate {

class Mbarrier;

/// The first element of a box, x along dimension 0.
struct BoxPlace {
  int x;
  int y;
};

/// A copy of a box from global memory to the shared memory of one block, whose bytes are counted at a barrier there.
/// It reads, writes and is counted at one moment between its issue and the end of the phase that waits for it, which
/// the run's seed draws.
class TensorLoad {
 public:
  TensorLoad(Thread& thread, Instruction instruction, const TensorMapSpec& spec, BoxPlace at, Block& block,
             std::uint32_t shared, Mbarrier& barrier)
      : thread_(&thread),
        instruction_(instruction),
        spec_(spec),
        at_(at),
        block_(&block),
        shared_(shared),
        barrier_(&barrier) {}

  /// The destination is poisoned. False if it is no place to write to.
  bool begin();
  void land();

 private:
  Thread* thread_;  // who issued it
  Instruction instruction_;
  TensorMapSpec spec_;
  BoxPlace at_;
  Block* block_;
  std::uint32_t shared_;
  Mbarrier* barrier_;
};

// What the instructions do, for the thread that runs. `blocks` has a bit for each rank.

void load_tensor(std::uint32_t shared, const TensorMap& map, BoxPlace at, std::uint32_t barrier);
void load_tensor_multicast(std::uint32_t shared, const TensorMap& map, BoxPlace at, std::uint32_t barrier,
                           std::uint32_t blocks);

// ---- shared with stores ----

/// The two-dimensional tensor of `map`; nullopt, and reported, if that is none.
std::optional<TensorMapSpec> tensor_of(const Thread& thread, Instruction instruction, const TensorMap& map);
/// Whether a box may lie at `shared`; reported if not.
bool is_box_address(const Thread& thread, Instruction instruction, std::uint32_t shared);

inline constexpr std::uint32_t kTensorChunk = 16;  // bytes: shared memory holds, and swizzles, no smaller pieces
inline std::uint32_t row_bytes(const TensorMapSpec& spec) {
  return spec.box[0] * static_cast<std::uint32_t>(size_bytes(spec.element));
}
inline std::uint32_t box_bytes(const TensorMapSpec& spec) { return spec.box[1] * row_bytes(spec); }

}  // namespace hotgemm::emulate
