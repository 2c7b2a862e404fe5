// Every kind of error in a kernel is found with every seed, and correct kernels give no findings.

#include "emulate/device_fixture.hpp"

#include <set>

namespace hotgemm::emulate {
namespace {

using ptx::bar_sync;
using ptx::thread_index;

u32 word_of(int thread) { return kShared + static_cast<u32>(thread) * 4; }

class Hazards : public EmulatedDevice {};

// ---- places ----

TEST_F(Hazards, SharedMemoryHasBounds) {
  for (const u32 address : {0u, kShared - 4, kShared + 1024, 0xfffffffcu}) {
    const Finding f = expect_found(Hazard::out_of_bounds, Instruction::st_shared_b32, [&] {
      if (thread_index() == 37) ptx::st_shared_b32(address, 1);
    });
    EXPECT_EQ(f.thread, 37);
    EXPECT_EQ(f.address, address);
    EXPECT_EQ(f.bytes, 4);
    EXPECT_EQ(f.place, "shared");
  }
  expect_good([] { ptx::st_shared_b32(word_of(thread_index()) + 1024 - 256, 1); });
}

TEST_F(Hazards, MatricesHaveBounds) {
  const u64 a = matrix("A", 3, 32).address();
  const auto load = [&](u64 address) { return [=] { static_cast<void>(ptx::ld_global_b32(address)); }; };
  expect_good(load(a));
  expect_good(load(a + 2 * 96 + 28));
  for (const u64 address : {a - 4, a + 32, a + 95 - 3, a + 2 * 96 + 32, a + 3 * 96, a + (u64{1} << 33)}) {
    const Finding f = expect_found(Hazard::out_of_bounds, Instruction::ld_global_b32, load(address));
    EXPECT_EQ(f.place, "A");
    EXPECT_EQ(f.address, address);
  }
  EXPECT_EQ(expect_found(Hazard::out_of_bounds, Instruction::ld_global_b32, load(0)).place, "global");
}

TEST_F(Hazards, AccessesAreAligned) {
  const u64 a = matrix("A", 1, 64).address();
  expect_found(Hazard::misaligned, Instruction::ld_global_b32, [&] { static_cast<void>(ptx::ld_global_b32(a + 2)); });
  expect_found(Hazard::misaligned, Instruction::ld_shared_v4_b32,
               [] { static_cast<void>(ptx::ld_shared_v4_b32(kShared + 8)); });
  expect_found(Hazard::misaligned, Instruction::cp_async_cg_16, [&] { ptx::cp_async<16>(kShared + 8, a, 16); });
  // A copy of zero bytes needs an aligned address too, but there need not be memory at the address.
  expect_found(Hazard::misaligned, Instruction::cp_async_cg_16, [&] {
    ptx::cp_async<16>(kShared + static_cast<u32>(thread_index()) * 16, a + 8, 0);
    ptx::cp_async_commit_group();
    ptx::cp_async_wait_group<0>();
  });
  expect_good([&] { ptx::cp_async<16>(kShared + static_cast<u32>(thread_index()) * 16, u64{1} << 60, 0); });
}

TEST_F(Hazards, OperandsAreNotWritten) {
  const u64 a = matrix("A", 1, 64).address();
  const Finding f = expect_found(Hazard::out_of_bounds, Instruction::st_global_b16, [&] { ptx::st_global_b16(a, 1); });
  EXPECT_EQ(f.place, "A");
}

TEST_F(Hazards, MemoryThatNobodyWroteHasNoValue) {
  expect_found(Hazard::uninitialised, Instruction::ld_shared_f32, [] {
    if (thread_index() == 0) ptx::st_shared_b16(kShared, 1);
    bar_sync();
    static_cast<void>(ptx::ld_shared_f32(kShared));  // only half of the word has been written
  });
  const u64 d =
      device_.memory().add({.name = "D", .rows = 1, .row_bytes = 64, .pitch_bytes = 64, .is_writable = true}).address();
  expect_found(Hazard::uninitialised, Instruction::ld_global_b16, [&] { static_cast<void>(ptx::ld_global_b16(d)); });
}

// ---- order ----

TEST_F(Hazards, ReadAfterWriteNeedsABarrier) {
  const auto kernel = [](bool has_barrier) {
    return [=] {
      ptx::st_shared_b32(word_of(thread_index()), 1);
      if (has_barrier) bar_sync();
      static_cast<void>(ptx::ld_shared_f32(word_of(63 - thread_index())));
    };
  };
  expect_good(kernel(true));
  expect_conflict(kernel(false));
}

TEST_F(Hazards, WriteAfterReadNeedsABarrier) {
  const auto kernel = [](bool has_barrier) {
    return [=] {
      ptx::st_shared_b32(word_of(thread_index()), 1);
      bar_sync();
      static_cast<void>(ptx::ld_shared_f32(word_of(0)));  // all threads read one word
      if (has_barrier) bar_sync();
      if (thread_index() == 40) ptx::st_shared_b32(word_of(0), 2);
    };
  };
  expect_good(kernel(true));
  expect_conflict(kernel(false));
}

TEST_F(Hazards, TwoWritersNeedABarrier) {
  const Finding f = expect_found(Hazard::conflict, Instruction::st_shared_b16, [] {
    if (thread_index() % 32 == 5) ptx::st_shared_b16(kShared + 64, 1);
  });
  EXPECT_EQ(f.other, Instruction::st_shared_b16);
  EXPECT_EQ(f.address, kShared + 64);
  // Writes to the two halves of one word do not conflict.
  expect_good([] { ptx::st_shared_b16(kShared + static_cast<u32>(thread_index()) * 2, 1); });
}

TEST_F(Hazards, ABarrierOfOneWarpDoesNotOrderTwo) {
  const auto kernel = [](int partner) {
    return [=] {
      ptx::st_shared_b32(word_of(thread_index()), 1);
      ptx::bar_warp_sync(~0u);
      static_cast<void>(ptx::ld_shared_f32(word_of(thread_index() ^ partner)));
    };
  };
  expect_good(kernel(1));
  expect_conflict(kernel(32));
}

TEST_F(Hazards, LockstepIsNoOrder) {
  // A warp whose lanes happen to run together still needs a barrier between a store and a collective load.
  const auto kernel = [](bool has_barrier) {
    return [=] {
      const u32 row = kShared + static_cast<u32>(thread_index()) * 16;
      for (u32 i = 0; i < 4; ++i) ptx::st_shared_b32(row + i * 4, i);
      if (has_barrier) ptx::bar_warp_sync(~0u);
      u32 registers[4];
      ptx::ldmatrix_x4(registers, row);
    };
  };
  expect_good(kernel(true));
  expect_found(Hazard::conflict, Instruction::ldmatrix_x4, kernel(false));
}

TEST_F(Hazards, BlocksDoNotWaitForEachOther) {
  const u64 d = matrix("D", 1, 64, true).address();
  const Shape four_blocks{.blocks = 4};
  const Finding f = expect_found(
      Hazard::conflict, Instruction::st_global_b32,
      [&] {
        if (thread_index() == 0) ptx::st_global_b32(d, ptx::block_index());
      },
      four_blocks);
  EXPECT_EQ(f.place, "D");
  expect_good(
      [&] {
        if (thread_index() == 0) ptx::st_global_b32(d + ptx::block_index() * 4, 1);
      },
      four_blocks);
  // Atomic additions to one address do not conflict with each other, but a plain store conflicts with them.
  expect_good([&] { ptx::red_global_add_u32(d, 1); }, four_blocks);
  expect_conflict(
      [&] {
        if (ptx::block_index() == 0) ptx::st_global_b32(d, 1);
        ptx::red_global_add_u32(d, 1);
      },
      four_blocks);
}

// ---- asynchronous copies ----

class AsyncCopies : public Hazards {
 protected:
  u64 a_ = matrix("A", 1, 4096).address();
  static u32 chunk_of(int thread) { return kShared + static_cast<u32>(thread) * 16; }
  u64 source_of(int thread) const { return a_ + static_cast<u64>(thread) * 16; }
  void copy(int to, int from) const { ptx::cp_async<16>(chunk_of(to), source_of(from), 16); }
  void copy(int chunk) const { copy(chunk, chunk); }
};

TEST_F(AsyncCopies, AreSeenByTheirThreadAfterItsWait) {
  const auto kernel = [&](bool waits) {
    return [this, waits] {
      copy(thread_index());
      ptx::cp_async_commit_group();
      if (waits) ptx::cp_async_wait_group<0>();
      const ptx::Vec4 v = ptx::ld_shared_v4_b32(chunk_of(thread_index()));
      if (waits) {
        EXPECT_EQ(v.x & 0xffu, static_cast<u32>(thread_index() * 16 % 256));
      }
    };
  };
  expect_good(kernel(true));
  const Finding f = expect_found(Hazard::in_flight, Instruction::ld_shared_v4_b32, kernel(false));
  EXPECT_EQ(f.other, Instruction::cp_async_cg_16);
}

TEST_F(AsyncCopies, AreSeenByOthersAfterABarrierBehindTheWait) {
  const auto kernel = [&](bool before, bool after) {
    return [this, before, after] {
      copy(thread_index());
      ptx::cp_async_commit_group();
      if (before) bar_sync();
      ptx::cp_async_wait_group<0>();
      if (after) bar_sync();
      static_cast<void>(ptx::ld_shared_f32(chunk_of(63 - thread_index())));
    };
  };
  expect_good(kernel(false, true));
  expect_found(Hazard::conflict, Instruction::ld_shared_f32, kernel(true, false));  // the barrier before the wait
  EXPECT_FALSE(run(kernel(false, false)).findings.empty());
}

TEST_F(AsyncCopies, AreWaitedForByGroups) {
  const auto kernel = [&]<int kPending>(bool commits_last) {
    return [this, commits_last] {
      const int i = thread_index() * 2;
      copy(i, 0);
      ptx::cp_async_commit_group();
      copy(i + 1, 1);
      if (commits_last) ptx::cp_async_commit_group();
      ptx::cp_async_wait_group<kPending>();
      static_cast<void>(ptx::ld_shared_f32(chunk_of(i)));
      if (kPending == 0) static_cast<void>(ptx::ld_shared_f32(chunk_of(i + 1)));
    };
  };
  const Shape shape{.threads = 32};
  expect_good(kernel.operator()<1>(true), shape);
  expect_good(kernel.operator()<0>(true), shape);
  // A wait that covers one group too few, and a copy that is in no group, which no wait covers.
  expect_found(Hazard::in_flight, Instruction::ld_shared_f32, kernel.operator()<2>(true), shape);
  expect_found(Hazard::in_flight, Instruction::ld_shared_f32, kernel.operator()<0>(false), shape);
}

TEST_F(AsyncCopies, DoNotOverwriteWhatIsBeingRead) {
  const auto kernel = [&](bool has_barrier) {
    return [this, has_barrier] {
      copy(thread_index());
      ptx::cp_async_commit_group();
      ptx::cp_async_wait_group<0>();
      bar_sync();
      static_cast<void>(ptx::ld_shared_f32(chunk_of(63 - thread_index())));
      if (has_barrier) bar_sync();
      copy(thread_index(), 0);
    };
  };
  expect_good(kernel(true));
  for (std::uint64_t seed = 1; seed < 8; ++seed) {  // the bytes that are read may be in flight again by then
    EXPECT_FALSE(run(kernel(false), {.seed = seed}).findings.empty());
  }
}

TEST_F(AsyncCopies, AreNotWrittenOver) {
  const Finding f = expect_found(Hazard::in_flight, Instruction::st_shared_b32, [&] {
    copy(thread_index());
    ptx::st_shared_b32(chunk_of(thread_index()), 1);
  });
  EXPECT_EQ(f.other, Instruction::cp_async_cg_16);
}

TEST_F(AsyncCopies, FillWithZerosAndReadNoFurther) {
  const u64 b = matrix("B", 1, 4094).address();  // only six of its last eight bytes exist
  const auto kernel = [&](int valid_bytes) {
    return [=] {
      const u32 to = chunk_of(thread_index());
      ptx::cp_async<8>(to, b, 8);
      ptx::cp_async<8>(to + 8, b + 4088, valid_bytes);
      ptx::cp_async_commit_group();
      ptx::cp_async_wait_group<0>();
      const ptx::Vec4 v = ptx::ld_shared_v4_b32(to);
      EXPECT_EQ(v.y, 0x07060504u);
      if (valid_bytes == 6) {
        EXPECT_EQ(v.w, 0x0000fdfcu);
      }
    };
  };
  expect_good(kernel(6));
  EXPECT_EQ(expect_found(Hazard::out_of_bounds, Instruction::cp_async_ca_8, kernel(8)).place, "B");
  expect_found(Hazard::bad_operand, Instruction::cp_async_ca_8,
               [&] { ptx::cp_async<8>(chunk_of(thread_index()), b, 10); });
}

TEST_F(AsyncCopies, LandAtMomentsThatTheSeedDraws) {
  std::set<u32> seen;
  for (std::uint64_t seed = 1; seed < 60; ++seed) {
    run(
        [&] {
          copy(1);
          ptx::cp_async_commit_group();
          ptx::bar_warp_sync(~0u);
          if (thread_index() == 0) seen.insert(ptx::ld_shared_v4_b32(chunk_of(1)).x);
          ptx::cp_async_wait_group<0>();
        },
        {.threads = 32, .seed = seed});
  }
  EXPECT_EQ(seen, (std::set<u32>{0x13121110u, 0xffffffffu})) << "the data, and the poison that is there before";
}

// ---- threads that do not arrive ----

TEST_F(Hazards, ABarrierNeedsEveryThread) {
  const Finding f = expect_found(Hazard::stuck, Instruction::bar_sync, [] {
    if (thread_index() == 17) return;
    bar_sync();
  });
  EXPECT_NE(f.detail.find("63 of 64 threads arrived at barrier 0; thread 17 has ended"), std::string::npos) << f.detail;
}

TEST_F(Hazards, AnInstructionOfAWarpNeedsEveryLane) {
  const Finding f = expect_found(Hazard::stuck, Instruction::ldmatrix_x4, [] {
    u32 registers[4];
    if (thread_index() == 40) bar_sync();
    ptx::ldmatrix_x4(registers, kShared);
  });
  EXPECT_NE(f.detail.find("thread 40 waits in bar.sync"), std::string::npos) << f.detail;
  expect_found(Hazard::stuck, Instruction::vote_sync_any, [] {
    if (thread_index() != 3) ptx::vote_sync_any(true, ~0u);
  });
  // Lanes at different instructions wait for each other for ever.
  expect_found(Hazard::stuck, Instruction::ldmatrix_x4_trans, [] {
    u32 registers[4];
    thread_index() % 2 == 0 ? ptx::ldmatrix_x4(registers, kShared) : ptx::ldmatrix_x4_trans(registers, kShared);
  });
}

TEST_F(Hazards, NamedBarriersOrderWhoMeets) {
  // A producer warp arrives, a consumer warp waits, and a third warp does not take part.
  const auto kernel = [](bool waits) {
    return [=] {
      const int warp = thread_index() / 32;
      if (warp == 0) {
        ptx::st_shared_b32(word_of(thread_index()), 1);
        ptx::bar_arrive(1, 64);
      } else if (warp == 1) {
        if (waits) ptx::bar_sync(1, 64);
        static_cast<void>(ptx::ld_shared_f32(word_of(thread_index() - 32)));
      }
    };
  };
  const Shape shape{.threads = 96};
  expect_good(kernel(true), shape);
  EXPECT_FALSE(run(kernel(false), shape).findings.empty());
  // An arrival orders only earlier accesses: the producer's accesses after its arrival are not ordered before those of
  // the consumer.
  const auto late = [] {
    if (thread_index() < 32) {
      ptx::bar_arrive(1, 64);
      ptx::st_shared_b32(word_of(thread_index()), 1);
    } else {
      ptx::bar_sync(1, 64);
      static_cast<void>(ptx::ld_shared_f32(word_of(thread_index() - 32)));
    }
  };
  EXPECT_FALSE(run(late).findings.empty());
}

TEST_F(Hazards, BarriersAgreeOnTheirThreads) {
  expect_found(Hazard::bad_operand, Instruction::bar_sync, [] { ptx::bar_sync(1, 33); });
  expect_found(Hazard::bad_operand, Instruction::bar_sync, [] { ptx::bar_sync(16, 64); });
  // If the second warp passes before the first one arrives, the first one is stuck.
  expect_bad([] { ptx::bar_sync(1, thread_index() < 32 ? 64 : 32); });
}

// ---- seeds ----

TEST_F(Hazards, ARunRepeatsFromItsSeed) {
  const auto kernel = [] {
    ptx::st_shared_b32(word_of(thread_index() / 2), 1);
    static_cast<void>(ptx::ld_shared_f32(word_of(63 - thread_index())));
  };
  std::set<std::string> different;
  for (std::uint64_t seed = 1; seed < 8; ++seed) {
    const std::string first = text(run(kernel, {.seed = seed}).findings);
    EXPECT_EQ(first, text(run(kernel, {.seed = seed}).findings));
    EXPECT_NE(first.find("(seed " + std::to_string(seed)), std::string::npos) << first;
    different.insert(first.substr(0, first.find("(seed")));
  }
  EXPECT_GT(different.size(), 1u) << "threads run in the same order with every seed";
}

TEST_F(Hazards, AreCountedAndNotRepeated) {
  const LaunchReport report = run([] { ptx::st_shared_b32(0, 1); });
  ASSERT_EQ(report.findings.size(), 1u);
  EXPECT_EQ(report.findings.front().count, 64u);
  EXPECT_NE(to_string(report.findings.front()).find("64 times"), std::string::npos);
}

}  // namespace
}  // namespace hotgemm::emulate
