// A warp that is far behind the others of its block. This order is legal, and the warp may miss the phase that it waits
// for.

#include "emulate/device_fixture.hpp"

#include "emulate/emulated_wgmma.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

namespace hotgemm::emulate {
namespace {

using ptx::bar_sync;
using ptx::thread_index;

constexpr int kN = 16, kWarp = 32, kWarpgroup = 128;
constexpr u32 kA = kShared, kB = kA + 64 * 32, kGo = kB + kN * 32, kEnd = kGo + 2 * 8;
constexpr std::uint64_t kSeeds = 24;

using Multiply = EmulatedWgmma<kN, DType::f16, DType::f32, true, true>;
using Sums = float[kN / 2];

/// Writes zeros, for which the layout does not matter.
void write_operands() {
  for (u32 at = kA + static_cast<u32>(thread_index()) * 4; at < kGo; at += kWarpgroup * 4)
    if (thread_index() < kWarpgroup) ptx::st_shared_b32(at, 0);
  ptx::fence_proxy_async();
}

u64 descriptor(u32 address, u32 leading) { return u64{address >> 4} | u64{leading >> 4} << 16 | u64{128 >> 4} << 32; }

void multiply(Sums& d, bool accumulate = false) {
  ptx::wgmma_fence();
  Multiply::mma_async(d, descriptor(kA, 64 * 16), descriptor(kB, kN * 16), accumulate);
  ptx::wgmma_commit_group();
}

u32 go(int warpgroup) { return kGo + static_cast<u32>(warpgroup) * 8; }

/// Two warpgroups take turns, with one product in each turn. At the end of a turn one of every `turn_threads` threads
/// arrives, before its warp waits for the product.
void take_turns(int turn_threads) {
  if (thread_index() == 0) {
    for (const int warpgroup : {0, 1}) ptx::mbarrier_init(go(warpgroup), static_cast<u32>(kWarpgroup / turn_threads));
  }
  write_operands();
  bar_sync();
  const int self = thread_index() / kWarpgroup;
  for (int turn = self; turn < 10; turn += 2) {
    const u32 parity = static_cast<u32>(turn / 2 & 1);
    while (!ptx::mbarrier_try_wait_parity(go(self), self == 0 ? parity ^ 1 : parity)) {
    }
    Sums d;
    multiply(d);
    if (thread_index() % turn_threads == 0) ptx::mbarrier_arrive(go(1 - self));
    ptx::wgmma_wait_group<0>();
  }
}

class Laggards : public EmulatedDevice {
 protected:
  static Shape shape(int threads, std::uint64_t seed) {
    return {.threads = threads, .shared_bytes = static_cast<int>(kEnd - kShared), .seed = seed};
  }
};

TEST_F(Laggards, MissATurnThatOneThreadEndsForItsWarpgroup) {
  std::uint64_t found = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const LaunchReport right = run([] { take_turns(kWarp); }, shape(2 * kWarpgroup, seed));
    EXPECT_TRUE(right.findings.empty()) << text(right.findings);
    const LaunchReport wrong = run([] { take_turns(kWarpgroup); }, shape(2 * kWarpgroup, seed));
    found += std::ranges::any_of(wrong.findings, [](const Finding& finding) {
      return finding.hazard == Hazard::stuck && finding.instruction == Instruction::mbarrier_try_wait_parity;
    });
  }
  // Half of the seeds have a laggard. Six of the eight warps may miss a phase; the other two end the turns.
  EXPECT_GE(found, kSeeds / 4);
}

/// Events in the order of the run, each noted by lane 0 of a warp.
struct Event {
  enum Kind { before_product, behind_product, behind_wait } kind;
  int warp;
};

std::vector<Event> events_of_one_product(Device& device, std::uint64_t seed) {
  std::vector<Event> events;
  const auto note = [&](Event::Kind kind) {
    if (thread_index() % kWarp == 0) events.push_back({kind, thread_index() / kWarp});
  };
  const LaunchReport report = device.launch(
      {.blocks = 1, .threads_per_block = kWarpgroup, .shared_bytes = static_cast<int>(kEnd - kShared), .seed = seed},
      [&] {
        write_operands();
        bar_sync();
        Sums d;
        note(Event::before_product);
        multiply(d);
        note(Event::behind_product);
        ptx::wgmma_wait_group<0>();
        note(Event::behind_wait);
      });
  EXPECT_TRUE(report.findings.empty()) << text(report.findings);
  return events;
}

TEST_F(Laggards, AreNotAwaitedAtAProductButWhereItIsWaitedFor) {
  std::set<int> laggards;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const std::vector<Event> events = events_of_one_product(device_, seed);
    ASSERT_EQ(events.size(), 12u);
    const auto last_to_come = std::ranges::find(events.rbegin(), events.rend(), Event::before_product, &Event::kind);
    const auto first_to_have_waited = std::ranges::find(events, Event::behind_wait, &Event::kind);
    EXPECT_LE(last_to_come.base(), first_to_have_waited) << "seed " << seed;
    const auto ahead = std::count_if(events.begin(), last_to_come.base(),
                                     [](const Event& event) { return event.kind == Event::behind_product; });
    if (seed % 2 != 0) continue;
    EXPECT_EQ(ahead, 3) << "seed " << seed;
    laggards.insert(last_to_come->warp);
  }
  EXPECT_EQ(laggards.size(), 4u);
}

/// After the wait for the first product the accumulators are still in use, because a warp that is ahead has issued more
/// products for them.
TEST_F(Laggards, LeaveTheSumsOfOthersInFlight) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const LaunchReport report = run(
        [] {
          write_operands();
          bar_sync();
          Sums d;
          for (int tile = 0; tile < 4; ++tile) {
            multiply(d, tile > 0);
            ptx::wgmma_wait_group<1>();
            EXPECT_TRUE(std::isnan(d[0]));
          }
          ptx::wgmma_wait_group<0>();
          for (const float sum : d) EXPECT_EQ(sum, 0);
        },
        shape(kWarpgroup, seed));
    EXPECT_TRUE(report.findings.empty()) << text(report.findings);
  }
}

/// Two products of one warpgroup. One lane of each warp arrives, with `pending` of them not waited for; then a warp of
/// another warpgroup writes to their operands.
void release_operands(int pending) {
  if (thread_index() == 0) ptx::mbarrier_init(kGo, kWarpgroup / kWarp);
  write_operands();
  bar_sync();
  if (thread_index() >= kWarpgroup) {
    while (!ptx::mbarrier_try_wait_parity(kGo, 0)) {
    }
    if (thread_index() == kWarpgroup) ptx::st_shared_b32(kA, 0);
    return;
  }
  Sums d;
  multiply(d);
  multiply(d, true);
  if (pending == 0) {
    ptx::wgmma_wait_group<0>();
  } else {
    ptx::wgmma_wait_group<1>();
  }
  if (thread_index() % kWarp == 0) ptx::mbarrier_arrive(kGo);
  ptx::wgmma_wait_group<0>();
}

/// A warp knows of the products that it waited for itself. It does not know what a warp that is ahead waited for.
TEST_F(Laggards, ReleaseOperandsTooEarlyEvenIfOthersHaveWaitedForMore) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const LaunchReport right = run([] { release_operands(0); }, shape(kWarpgroup + kWarp, seed));
    EXPECT_TRUE(right.findings.empty()) << text(right.findings);
    const LaunchReport wrong = run([] { release_operands(1); }, shape(kWarpgroup + kWarp, seed));
    EXPECT_TRUE(std::ranges::any_of(wrong.findings,
                                    [](const Finding& finding) {
                                      return finding.hazard == Hazard::conflict &&
                                             finding.other == Instruction::wgmma_mma_async;
                                    }))
        << "seed " << seed << text(wrong.findings);
  }
}

}  // namespace
}  // namespace hotgemm::emulate
