#pragma once

#include "emulate/shared_memory.hpp"
#include "emulate/thread.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace hotgemm::emulate {

inline constexpr int kWarpgroupThreads = 128;
inline constexpr int kWarpgroupWarps = 4;

/// The form of one wgmma.mma_async.m64nNk16 with both operands in shared memory.
struct WgmmaShape {
  int n;
  bool is_bf16;
  bool has_f32_sum;  ///< false: f16, two per register
  bool a_is_k_major, b_is_k_major;

  constexpr int registers() const { return has_f32_sum ? n / 2 : n / 4; }
  friend bool operator==(const WgmmaShape&, const WgmmaShape&) = default;
};

/// The operands of a thread. `accumulators` are its 32-bit registers.
struct WgmmaOperands {
  WgmmaShape shape;
  std::uint64_t a, b;
  bool accumulate;
  void* accumulators;

  friend bool operator==(const WgmmaOperands&, const WgmmaOperands&) = default;
};

/// Four warps and their products in flight. From the issue of a product until its warp waits for the product's group,
/// the accumulators are poison. In this time wgmma may read the operands in shared memory at any moment; here it reads
/// them at the first wait.
class Warpgroup {
 public:
  Warpgroup(Block& block, int index);

  /// wgmma.mma_async. The last thread that arrives issues it for all; the others are suspended until then.
  void multiply(Thread& thread, const WgmmaOperands& operands);

  // Executed once for the warp of `thread`.
  void fence(Thread& thread);
  void commit(Thread& thread);
  void await(Thread& thread, std::size_t pending);

  int arrived() const { return arrived_; }
  bool has_arrived(const Thread& thread) const { return calls_[slot(thread)] != nullptr; }
  Thread& thread(int i) const;

 private:
  /// The accumulators of a product in flight, and their future values.
  struct Sum {
    WgmmaShape shape;
    std::array<void*, kWarpgroupThreads> registers;
    std::vector<float> values;              // 64 rows of n elements
    std::size_t group;                      // of the last product
    std::array<bool, kWarpgroupWarps> has;  // by warp: true if its registers are usable again
  };
  struct Product {
    WgmmaShape shape;
    std::uint64_t a, b;
    bool accumulate;
    std::size_t group;
    std::shared_ptr<Sum> sum;
  };
  struct WarpState {
    std::size_t committed = 0;  // number of groups
    bool is_fenced = false;     // a fence came after the last access of the threads to the registers
  };

  static std::size_t slot(const Thread& thread) { return static_cast<std::size_t>(thread.index % kWarpgroupThreads); }
  WarpState& state_of(const Thread& thread) { return warps_[slot(thread) / 32]; }
  void issue(Thread& thread);
  bool agrees(Thread& thread) const;
  std::shared_ptr<Sum> sum_of(Thread& thread, const WgmmaOperands& first);
  void begin_reads(Thread& thread, const WgmmaOperands& first, std::size_t group);
  void complete(std::size_t groups);
  void execute(const Product& product);
  void give_back(Sum& sum, std::size_t warp);

  Block& block_;
  int index_;
  std::uint16_t agent_;
  int arrived_ = 0;
  std::array<const WgmmaOperands*, kWarpgroupThreads> calls_{};
  std::array<WarpState, kWarpgroupWarps> warps_;
  std::vector<Product> products_;  // issued but not executed
  std::vector<std::shared_ptr<Sum>> sums_;
  View completed_;
  std::size_t completed_groups_ = 0;
};

// The instructions, executed for the running thread.

void wgmma_mma_async(const WgmmaOperands& operands);
void wgmma_fence();
void wgmma_commit_group();
void wgmma_wait_group(std::size_t pending);
void setmaxnreg(int registers);

}  // namespace hotgemm::emulate
