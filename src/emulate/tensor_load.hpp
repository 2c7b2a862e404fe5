#pragma once

#include "emulate/tensor_map.hpp"
#include "emulate/thread.hpp"

#include <cstdint>
#include <optional>

namespace hotgemm::emulate {

class Mbarrier;

/// The coordinates of the first element of a box, in a tensor of `rank` dimensions; x is along dimension 0. A box has
/// one element along z and w.
struct BoxPlace {
  int x;
  int y;
  int z = 0;
  int w = 0;
  int rank = 2;
};

/// A copy of a box from global memory to the shared memory of one block. A barrier of that block counts the bytes. The
/// copy reads, writes and is counted at one moment between its issue and the end of the phase that waits for it. The
/// seed of the run draws the moment.
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

  /// Poisons the destination. False if the address is invalid.
  bool begin();
  void land();

 private:
  Thread* thread_;  // the issuing thread
  Instruction instruction_;
  TensorMapSpec spec_;
  BoxPlace at_;
  Block* block_;
  std::uint32_t shared_;
  Mbarrier* barrier_;
};

// The instructions, executed for the running thread. `blocks` has a bit for each rank.

void load_tensor(std::uint32_t shared, const TensorMap& map, BoxPlace at, std::uint32_t barrier);
void load_tensor_multicast(std::uint32_t shared, const TensorMap& map, BoxPlace at, std::uint32_t barrier,
                           std::uint32_t blocks);

/// Checks that `map` is a tensor map.
void prefetch_map(const TensorMap& map);

// ---- shared with stores ----

/// The tensor of `map`, of `rank` dimensions. If there is none, reports that and returns nullopt.
std::optional<TensorMapSpec> tensor_of(const Thread& thread, Instruction instruction, const TensorMap& map, int rank);
/// True if a box may start at `shared`; otherwise reports that.
bool is_box_address(const Thread& thread, Instruction instruction, std::uint32_t shared);

inline constexpr std::uint32_t kTensorChunk = 16;  // bytes: the smallest unit that a swizzle moves
inline std::uint32_t row_bytes(const TensorMapSpec& spec) {
  return spec.box[0] * static_cast<std::uint32_t>(size_bytes(spec.element));
}
inline std::uint32_t box_bytes(const TensorMapSpec& spec) { return spec.box[1] * row_bytes(spec); }

}  // namespace hotgemm::emulate
