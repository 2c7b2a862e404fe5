#pragma once

#include "emulate/shared_memory.hpp"
#include "emulate/thread.hpp"
#include "emulate/warp.hpp"
#include "shared/gemm_types.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <vector>

namespace hotgemm::emulate {

inline constexpr int kWarpgroupThreads = 128;
inline constexpr int kWarpgroupWarps = 4;

/// The form of one wgmma.mma_async.m64nNkK. B is in shared memory, and A there or in registers.
struct WgmmaShape {
  int n;
  DType a, b, sum;  ///< f16 sums stand two in a register
  bool a_is_k_major, b_is_k_major;
  bool a_in_registers = false;

  static constexpr int kRegistersOfA = 4;
  constexpr bool has_word_sums() const { return sum != DType::f16; }
  constexpr int registers() const { return has_word_sums() ? n / 2 : n / 4; }
  /// True if the PTX ISA has the instruction.
  constexpr bool exists() const {
    if (n < 8 || n > 256 || n % 8 != 0) return false;
    if (a_in_registers && size_bytes(a) == 2) return false;  // the ISA has it; no kernel uses it
    if (a == DType::s8) return b == a && sum == DType::s32 && are_k_major() && (n % 16 == 0 || n == 8 || n == 24);
    if (is_fp8(a)) return is_fp8(b) && sum == DType::f32 && are_k_major();
    if (a == DType::tf32) return b == a && sum == DType::f32 && are_k_major();
    if (b != a || (a != DType::f16 && a != DType::bf16)) return false;
    return sum == DType::f32 || (sum == DType::f16 && a == DType::f16);
  }
  constexpr bool are_k_major() const { return (a_in_registers || a_is_k_major) && b_is_k_major; }
  friend bool operator==(const WgmmaShape&, const WgmmaShape&) = default;
};

/// The operands of a thread. `accumulators` are its 32-bit registers, and `rows` are those of A, if A is in registers.
struct WgmmaOperands {
  WgmmaShape shape;
  std::uint64_t a, b;
  bool accumulate;
  void* accumulators;
  const std::uint32_t* rows = nullptr;

  /// True if threads may give these operands together: they differ in registers only.
  bool agrees_with(const WgmmaOperands& o) const {
    return shape == o.shape && a == o.a && b == o.b && accumulate == o.accumulate;
  }
};

/// Four warps and their products in flight. Each warp executes a wgmma by itself and goes on: `.sync` holds the lanes
/// of a warp together, and nothing holds the warps together. The product of all four is issued when the last warp has
/// executed it; a wait for its group lasts until then. From its own wgmma until its wait for the group, a warp's
/// accumulators are poison. In this time wgmma may read the operands in shared memory, and A in registers, at any
/// moment; here it reads them at the first wait. A fence must come between two products with the same registers of A,
/// which kernels write in between.
class Warpgroup {
 public:
  Warpgroup(Block& block, int index);

  // Executed once for a warp: that of `thread`, or `warp`.
  /// wgmma.mma_async. `operands` points to the WgmmaOperands of each lane.
  void multiply(const Warp& warp, const std::array<void*, kLanes>& operands);
  void fence(Thread& thread);
  void commit(Thread& thread);
  void await(Thread& thread, std::size_t pending);

  /// The number of threads that have executed a wgmma that others of the warpgroup have not.
  int arrived() const;
  bool has_arrived(const Thread& thread) const { return !warps_[warp_of(thread)].calls.empty(); }
  Thread& thread(int i) const;

 private:
  /// The accumulators of a warp for products in flight, and their future values.
  struct Sum {
    WgmmaShape shape;
    std::array<void*, kLanes> registers;
    std::vector<double> values;  // 16 rows of n elements: each an f32 or an s32
    std::size_t group;           // of the last product
  };
  /// The registers of A of each lane of a warp.
  using Rows = std::array<const std::uint32_t*, kLanes>;
  /// A wgmma that one warp has executed.
  struct Call {
    WgmmaOperands operands;  // of lane 0
    Rows rows;
    View view;  // what all lanes had seen
    std::size_t group;
    std::shared_ptr<Sum> sum;
  };
  struct Product {
    WgmmaShape shape;
    std::uint64_t a, b;
    bool accumulate;
    std::size_t group;
    std::array<std::shared_ptr<Sum>, kWarpgroupWarps> sums;
    std::array<Rows, kWarpgroupWarps> rows;
  };
  struct WarpState {
    std::size_t committed = 0;                     // number of groups
    bool is_fenced = false;                        // a fence came after the last access of the threads to the registers
    std::set<const std::uint32_t*> unfenced_rows;  // of lane 0: registers of A used since the last fence
    std::deque<Call> calls;                        // of products that are not issued, in order
    std::vector<std::shared_ptr<Sum>> sums;        // whose registers the warp has not waited for
  };

  static std::size_t warp_of(const Thread& thread) {
    return static_cast<std::size_t>(thread.index % kWarpgroupThreads / kLanes);
  }
  WarpState& state_of(const Thread& thread) { return warps_[warp_of(thread)]; }
  void check_rows(const Warp& warp, const WgmmaOperands& operands);
  std::shared_ptr<Sum> sum_of(const Warp& warp, const std::array<void*, kLanes>& operands);
  void issue(Thread& thread);
  bool agrees(Thread& thread) const;
  void begin_reads(Thread& thread, const Call& first);
  void await_issue(const WarpState& warp, std::size_t groups);
  void complete(std::size_t groups);
  void execute(const Product& product);
  static std::vector<float> rows_of(const Product& product);
  static void give_back(const Thread& thread, Sum& sum);

  Block& block_;
  int index_;
  std::uint16_t agent_;
  std::array<WarpState, kWarpgroupWarps> warps_;
  std::vector<Thread*> waiting_;   // for the issue of a product
  std::vector<Product> products_;  // issued but not executed
  std::size_t completed_groups_ = 0;
};

// The instructions, executed for the running thread.

void wgmma_mma_async(const WgmmaOperands& operands);
void wgmma_fence();
void wgmma_commit_group();
void wgmma_wait_group(std::size_t pending);
void setmaxnreg(int registers);

}  // namespace hotgemm::emulate
