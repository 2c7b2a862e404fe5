// Barriers in shared memory and barriers of a cluster: their waits, the order that they give, and forbidden uses.

#include "emulate/device_fixture.hpp"

#include <set>
#include <string>

namespace hotgemm::emulate {
namespace {

using ptx::bar_sync;
using ptx::thread_index;

constexpr u32 kBarrier = kShared + 512;
u32 word_of(int thread) { return kShared + static_cast<u32>(thread) * 4; }

/// One thread initialises barriers for `arrivals` from kBarrier on; then all threads continue.
void make_barriers(u32 arrivals, int barriers = 1) {
  if (thread_index() == 0) {
    for (int i = 0; i < barriers; ++i) ptx::mbarrier_init(kBarrier + static_cast<u32>(i) * 8, arrivals);
    ptx::fence_mbarrier_init();
  }
  bar_sync();
}

class Mbarriers : public EmulatedDevice {};

TEST_F(Mbarriers, OrderWhatLiesBeforeArrivalAndBehindWait) {
  // Warp 0 writes and arrives; warp 1 waits and reads.
  const auto kernel = [](u32 arrivals, bool waits) {
    return [=] {
      make_barriers(arrivals);
      if (thread_index() < 32) {
        ptx::st_shared_b32(word_of(thread_index()), 7);
        ptx::mbarrier_arrive(kBarrier);
      } else {
        if (waits) await(kBarrier, 0);
        static_cast<void>(ptx::ld_shared_f32(word_of(thread_index() - 32)));
      }
    };
  };
  expect_good(kernel(32, true));
  expect_bad(kernel(32, false));
  expect_found(Hazard::stuck, Instruction::mbarrier_try_wait_parity, kernel(33, true));
  expect_bad(kernel(16, true));  // the phase ends after half of the arrivals
}

TEST_F(Mbarriers, ArrivingGivesAndDoesNotTake) {
  expect_bad([] {
    make_barriers(32);
    if (thread_index() < 32) {
      ptx::mbarrier_arrive(kBarrier);
      ptx::st_shared_b32(word_of(thread_index()), 1);
    } else {
      await(kBarrier, 0);
      static_cast<void>(ptx::ld_shared_f32(word_of(thread_index() - 32)));
    }
  });
}

TEST_F(Mbarriers, HavePhases) {
  // A ring of one word: warp 0 fills it ten times, warp 1 empties it. The first wait for an empty word uses the parity
  // of the phase before the first one, which counts as ended.
  const auto kernel = [](u32 empty_parity, u32 full_parity, bool releases) {
    return [=] {
      make_barriers(32, 2);
      const u32 full = kBarrier, empty = kBarrier + 8;
      for (u32 i = 0; i < 10; ++i) {
        if (thread_index() < 32) {
          await(empty, i % 2 ^ empty_parity);
          ptx::st_shared_b32(word_of(thread_index()), i);
          ptx::mbarrier_arrive(full);
        } else {
          await(full, i % 2 ^ full_parity);
          const ptx::Vec4 v = ptx::ld_shared_v4_b32(word_of(thread_index() % 32 / 4 * 4));
          if (empty_parity == 1 && full_parity == 0 && releases) {
            EXPECT_EQ(v.x, i);
            EXPECT_EQ(v.w, i);
          }
          if (releases || i < 9) ptx::mbarrier_arrive(empty);
        }
      }
    };
  };
  expect_good(kernel(1, 0, true));
  expect_good(kernel(1, 0, false));  // nobody waits for the last release
  expect_bad(kernel(0, 0, true));
  expect_bad(kernel(1, 1, true));
}

TEST_F(Mbarriers, CountBytesThatAreExpected) {
  expect_found(Hazard::stuck, Instruction::mbarrier_try_wait_parity, [] {
    make_barriers(1);
    if (thread_index() == 0) ptx::mbarrier_arrive_expect_tx(kBarrier, 16);
    await(kBarrier, 0);
  });
  expect_good([] {
    make_barriers(1);
    if (thread_index() == 0) ptx::mbarrier_arrive_expect_tx(kBarrier, 0);
    await(kBarrier, 0);
  });
}

TEST_F(Mbarriers, AreMadeOnceBeforeTheirUse) {
  expect_bad([] {
    if (thread_index() == 0) ptx::mbarrier_init(kBarrier, 64);
    ptx::mbarrier_arrive(kBarrier);
  });
  const Finding none =
      expect_found(Hazard::bad_operand, Instruction::mbarrier_arrive, [] { ptx::mbarrier_arrive(kBarrier); });
  EXPECT_NE(none.detail.find("there is no mbarrier"), std::string::npos) << none.detail;
  expect_found(Hazard::bad_operand, Instruction::mbarrier_init, [] {
    make_barriers(1);
    if (thread_index() == 0) ptx::mbarrier_init(kBarrier, 1);
  });
  for (const u32 arrivals : {0u, 1u << 20}) {
    expect_found(Hazard::bad_operand, Instruction::mbarrier_init, [=] {
      if (thread_index() == 0) ptx::mbarrier_init(kBarrier, arrivals);
    });
  }
  expect_found(Hazard::misaligned, Instruction::mbarrier_init, [] {
    if (thread_index() == 0) ptx::mbarrier_init(kBarrier + 4, 1);
  });
}

TEST_F(Mbarriers, AreNotOverrun) {
  expect_found(Hazard::bad_operand, Instruction::mbarrier_try_wait_parity, [] {
    make_barriers(1);
    await(kBarrier, 2);
  });
  expect_found(Hazard::conflict, Instruction::mbarrier_arrive, [] {
    make_barriers(64);
    if (thread_index() == 0) ptx::st_shared_b32(kBarrier, 1);
    bar_sync();
    ptx::mbarrier_arrive(kBarrier);
  });
  // One arrival too many, while the bytes of the phase have not arrived.
  expect_found(Hazard::bad_operand, Instruction::mbarrier_arrive, [] {
    make_barriers(1);
    if (thread_index() != 0) return;
    ptx::mbarrier_arrive_expect_tx(kBarrier, 16);
    ptx::mbarrier_arrive(kBarrier);
  });
}

// ---- clusters ----

/// Does the same as make_barriers, in both blocks.
void make_barriers_of_cluster(u32 arrivals) {
  if (thread_index() == 0) {
    ptx::mbarrier_init(kBarrier, arrivals);
    ptx::fence_mbarrier_init();
  }
  meet_cluster();
}

class Clusters : public EmulatedDevice {
 protected:
  static constexpr Shape kPair{.threads = 32, .blocks = 4, .cluster = 2};
};

TEST_F(Clusters, ThreadsKnowTheirRank) {
  expect_good([] { EXPECT_EQ(ptx::cluster_ctarank(), ptx::block_index() % 2); }, kPair);
}

TEST_F(Clusters, ArriveAtEachOthersBarriers) {
  const auto kernel = [](bool waits_before_end, u32 arrivals) {
    return [=] {
      make_barriers_of_cluster(arrivals);
      for (u32 rank = 0; rank < 2; ++rank) {
        if (thread_index() == 0) ptx::mbarrier_arrive_cluster(ptx::mapa(kBarrier, rank));
      }
      if (waits_before_end) await(kBarrier, 0);
    };
  };
  expect_good(kernel(true, 2), kPair);
  expect_found(Hazard::stuck, Instruction::mbarrier_try_wait_parity, kernel(true, 3), kPair);
  // Nobody waits for the arrival, so the other block may have ended before it.
  expect_found(Hazard::conflict, Instruction::mbarrier_arrive_cluster, kernel(false, 2), kPair);
}

TEST_F(Clusters, MeetBeforeTheyEnd) {
  const auto kernel = [](void (*end)()) {
    return [=] {
      make_barriers_of_cluster(2);
      for (u32 rank = 0; rank < 2; ++rank) {
        if (thread_index() == 0) ptx::mbarrier_arrive_cluster(ptx::mapa(kBarrier, rank));
      }
      end();
    };
  };
  const auto meet_relaxed = [] {
    ptx::barrier_cluster_arrive_relaxed();
    ptx::barrier_cluster_wait();
  };
  expect_good(kernel(meet_cluster), kPair);
  expect_bad(kernel([] {}), kPair);
  expect_bad(kernel(meet_relaxed), kPair);  // a relaxed arrival does not order the accesses before it
  expect_good(meet_relaxed, kPair);
}

TEST_F(Clusters, BarriersAreMadeBeforeOthersArrive) {
  expect_bad(
      [] {
        if (thread_index() == 0) {
          ptx::mbarrier_init(kBarrier, 1);
          ptx::fence_mbarrier_init();
        }
        bar_sync();
        if (thread_index() == 0) ptx::mbarrier_arrive_cluster(ptx::mapa(kBarrier, ptx::cluster_ctarank() ^ 1));
        meet_cluster();
      },
      kPair);
}

TEST_F(Clusters, AFenceMakesBarriersKnownToARelaxedMeeting) {
  const auto kernel = [](int fencer) {
    return [=] {
      if (thread_index() == 0) ptx::mbarrier_init(kBarrier, 1);
      bar_sync();
      if (thread_index() == fencer) ptx::fence_mbarrier_init();
      ptx::barrier_cluster_arrive_relaxed();
      ptx::barrier_cluster_wait();
      if (thread_index() == 0) {
        ptx::mbarrier_arrive_cluster(ptx::mapa(kBarrier, ptx::cluster_ctarank() ^ 1));
        await(kBarrier, 0);
      }
    };
  };
  expect_good(kernel(0), kPair);
  expect_found(Hazard::conflict, Instruction::mbarrier_arrive_cluster, kernel(-1), kPair);
  expect_found(Hazard::conflict, Instruction::mbarrier_arrive_cluster, kernel(1), kPair);  // another thread's fence
}

TEST_F(Clusters, LocalInstructionsTakeLocalAddresses) {
  expect_found(
      Hazard::bad_operand, Instruction::mbarrier_arrive,
      [] {
        make_barriers_of_cluster(64);
        ptx::mbarrier_arrive(ptx::mapa(kBarrier, 0));
        meet_cluster();
      },
      kPair);
  expect_found(
      Hazard::out_of_bounds, Instruction::st_shared_b32, [] { ptx::st_shared_b32(ptx::mapa(kShared, 0), 1); }, kPair);
  expect_found(
      Hazard::bad_operand, Instruction::mapa, [] { static_cast<void>(ptx::mapa(kShared, 2)); }, kPair);
}

TEST_F(Clusters, BarrierNeedsEveryThreadThatHasNotEnded) {
  expect_good(
      [] {
        if (thread_index() == 3) return;
        meet_cluster();
        meet_cluster();
      },
      kPair);
  expect_found(Hazard::stuck, Instruction::barrier_cluster_wait,
               [] {
                 if (thread_index() == 3 && ptx::cluster_ctarank() == 1) bar_sync(1, 64);
                 meet_cluster();
               },
               {.threads = 64, .blocks = 2, .cluster = 2});
  expect_found(
      Hazard::bad_operand, Instruction::barrier_cluster_wait, [] { ptx::barrier_cluster_wait(); }, kPair);
  expect_found(
      Hazard::bad_operand, Instruction::barrier_cluster_arrive,
      [] {
        ptx::barrier_cluster_arrive();
        ptx::barrier_cluster_arrive();
      },
      kPair);
}

// ---- the rest ----

TEST_F(Mbarriers, OneLaneIsElected) {
  std::set<int> elected;
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    int found = -1, again = -1, times = 0;
    run(
        [&] {
          if (ptx::elect_sync()) {
            found = thread_index();
            ++times;
          }
          if (ptx::elect_sync()) again = thread_index();
        },
        {.threads = 32, .seed = seed});
    EXPECT_EQ(times, 1);
    EXPECT_EQ(found, again) << "always the same one";
    elected.insert(found);
  }
  EXPECT_GT(elected.size(), 3u) << "which one is not for a kernel to know";
}

TEST_F(Mbarriers, ATrapIsFound) {
  const Finding f = expect_found(Hazard::trapped, Instruction::trap, [] {
    if (thread_index() == 5) ptx::trap();
  });
  EXPECT_EQ(f.thread, 5);
}

TEST_F(Mbarriers, GlobalMemoryIsTouchedBehindTheWaitForTheKernelAhead) {
  const u64 a = matrix("A", 1, 64).address();
  const auto kernel = [=](bool before, bool all_wait, bool meets) {
    return [=] {
      if (before) static_cast<void>(ptx::ld_global_b16(a));
      if (all_wait || thread_index() == 0) ptx::griddepcontrol_wait();
      if (meets) bar_sync();
      static_cast<void>(ptx::ld_global_b16(a));
      ptx::griddepcontrol_launch_dependents();
    };
  };
  expect_good(kernel(false, true, false));
  expect_good(kernel(false, false, true));
  expect_found(Hazard::conflict, Instruction::ld_global_b16, kernel(true, true, true));
  expect_found(Hazard::conflict, Instruction::ld_global_b16, kernel(false, false, false));
}

}  // namespace
}  // namespace hotgemm::emulate
