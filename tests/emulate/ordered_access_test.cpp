// Atomic operations that order blocks of different clusters.

#include "emulate/device_fixture.hpp"
#include "ptx/atomic.hpp"

#include <vector>

namespace hotgemm::emulate {
namespace {

constexpr u32 kBlocks = 6;
constexpr int kThreads = 64;

class OrderedAccess : public EmulatedDevice {
 protected:
  static constexpr Shape kShape{.threads = kThreads, .blocks = kBlocks};

  void SetUp() override {
    words_ = matrix("words", 1, kBlocks * kThreads * 4, true).address();
    Allocation& counter = matrix("counter", 1, 64, true);
    counter.store(0, 0, std::vector<std::uint8_t>(64).data(), 64);
    counter_ = counter.address();
  }
  u64 word(u32 block, int thread) const { return words_ + (block * kThreads + static_cast<u32>(thread)) * 4; }

  void write_own() const { ptx::st_global_b32(word(ptx::block_index(), ptx::thread_index()), 1); }
  void read_all() const {
    for (u32 block = 0; block < kBlocks; ++block) static_cast<void>(ptx::ld_global_b32(word(block, 0)));
  }
  /// The value of thread 0, for all threads.
  static u32 share(u32 value) {
    if (ptx::thread_index() == 0) ptx::st_shared_b32(kShared, value);
    ptx::bar_sync();
    return ptx::ld_shared_b32(kShared);
  }
  /// Adds one to the counter. If that makes it complete, sets it to zero and returns true.
  template <class Add>
  bool is_last(const Add& add) const {
    if (add(counter_, 1) != kBlocks - 1) return false;
    ptx::st_relaxed_gpu_b32(counter_, 0);
    return true;
  }

  u64 words_ = 0, counter_ = 0;
};

TEST_F(OrderedAccess, TheLastToArriveMayReadWhatAllHaveWritten) {
  expect_good(
      [&] {
        write_own();
        ptx::bar_sync();
        bool last = false;
        if (ptx::thread_index() == 0) last = is_last(ptx::atom_acq_rel_gpu_add_u32);
        if (share(last ? 1 : 0) != 0) read_all();
      },
      kShape);
}

TEST_F(OrderedAccess, ARelaxedOperationOrdersNothing) {
  expect_conflict(
      [&] {
        write_own();
        ptx::bar_sync();
        bool last = false;
        if (ptx::thread_index() == 0) last = is_last(ptx::atom_relaxed_gpu_add_u32);
        if (share(last ? 1 : 0) != 0) read_all();
      },
      kShape);
}

TEST_F(OrderedAccess, AnArrivalReleasesOnlyWhatItsThreadHasSeen) {
  const auto kernel = [&] {
    if (ptx::thread_index() == 0 && is_last(ptx::atom_acq_rel_gpu_add_u32)) {
      for (u32 block = 0; block < kBlocks; ++block) static_cast<void>(ptx::ld_global_b32(word(block, kThreads - 1)));
    }
  };
  expect_conflict(
      [&] {
        write_own();
        kernel();
      },
      kShape);
}

/// Blocks poll for a limited time. With some seeds they see that all have arrived, with others they give up; both are
/// in order.
TEST_F(OrderedAccess, OtherBlocksRunWhileOnePolls) {
  int seen = 0, given_up = 0;
  for (std::uint64_t seed = 1; seed < 10; ++seed) {
    const auto report = run(
        [&] {
          write_own();
          ptx::bar_sync();
          u32 is_complete = 0;
          if (ptx::thread_index() == 0) {
            ptx::atom_acq_rel_gpu_add_u32(counter_, 1);
            for (int poll = 0; poll < 50 && is_complete == 0; ++poll)
              is_complete = ptx::ld_acquire_gpu_b32(counter_) % kBlocks == 0 ? 1 : 0;
            ++(is_complete != 0 ? seen : given_up);
          }
          if (share(is_complete) != 0) read_all();
        },
        {.threads = kThreads, .blocks = kBlocks, .seed = seed});
    EXPECT_TRUE(report.findings.empty()) << text(report.findings);
  }
  EXPECT_GT(seen, 20);
  EXPECT_GT(given_up, 5);
}

TEST_F(OrderedAccess, AnExchangeReturnsTheOldValue) {
  std::vector<u32> old;
  expect_good(
      [&] {
        if (ptx::thread_index() != 0) return;
        old.push_back(ptx::atom_acq_rel_gpu_exch_b32(counter_, 7));
        old.push_back(ptx::atom_acq_rel_gpu_exch_b32(counter_, 0));
      },
      {.threads = kThreads, .blocks = 1});
  for (std::size_t i = 0; i < old.size(); ++i) EXPECT_EQ(old[i], i % 2 == 0 ? 0u : 7u);
}

}  // namespace
}  // namespace hotgemm::emulate
