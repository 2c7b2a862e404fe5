// Copies of boxes between global and shared memory: the place of each element, and the waits that are necessary.

#include "emulate/device_fixture.hpp"

#include "emulate/tensor_map.hpp"

#include <string>
#include <utility>
#include <vector>

namespace hotgemm::emulate {
namespace {

using ptx::bar_sync;
using ptx::thread_index;

constexpr u32 kBytes = 64 * 128;  // of the largest box here
constexpr u32 kCopyBarrier = kShared + 2 * kBytes;
constexpr int kRows = 150, kCols = 100, kBoxRows = 64;

constexpr std::pair<TensorSwizzle, int> kSwizzles[] = {{TensorSwizzle::none, 16},
                                                       {TensorSwizzle::bytes_32, 32},
                                                       {TensorSwizzle::bytes_64, 64},
                                                       {TensorSwizzle::bytes_128, 128}};
// Places inside the matrix, across each of its edges, and completely outside.
constexpr std::pair<int, int> kPlaces[] = {{8, 16}, {80, 120}, {96, 0}, {0, 149}, {-8, -3}, {0, 200}, {128, 0}};

u16 element(int row, int col) { return static_cast<u16>(row * 128 + col + 1); }

void make_barrier(u32 arrivals, bool fences = true) {
  if (thread_index() == 0) {
    ptx::mbarrier_init(kCopyBarrier, arrivals);
    if (fences) ptx::fence_mbarrier_init();
  }
}

class TensorCopies : public EmulatedDevice {
 protected:
  static constexpr Shape kBlock{.threads = 32, .shared_bytes = 2 * kBytes + 64};
  static constexpr Shape kPair{.threads = 32, .blocks = 2, .shared_bytes = 2 * kBytes + 64, .cluster = 2};

  /// A tensor of kRows × `cols` elements. Its rows are padded by 8 columns or more.
  Allocation& tensor(const char* name, int cols, bool is_writable) {
    Allocation& made = device_.memory().add({.name = name,
                                             .rows = kRows,
                                             .row_bytes = cols * 2,
                                             .pitch_bytes = (cols + 15) / 8 * 16,
                                             .is_writable = is_writable});
    for (int row = 0; row < kRows; ++row) {
      for (int col = 0; col < cols; ++col) {
        const u16 value = is_writable ? u16{0xdead} : element(row, col);
        made.store(row, col * 2, &value, 2);
      }
    }
    return made;
  }
  static TensorMap map_of(const Allocation& matrix, TensorSwizzle swizzle, int box_cols) {
    const auto cols = static_cast<std::uint64_t>(matrix.shape().row_bytes / 2);
    return encode({.base = matrix.address(),
                   .element = DType::f16,
                   .swizzle = swizzle,
                   .rank = 2,
                   .sizes = {cols, kRows},
                   .strides = {2, static_cast<std::uint64_t>(matrix.shape().pitch_bytes)},
                   .box = {static_cast<std::uint32_t>(box_cols), kBoxRows}});
  }
  static int box_cols(TensorSwizzle swizzle, int span) { return swizzle == TensorSwizzle::none ? 32 : span / 2; }

  Allocation& source_ = tensor("A", kCols, false);
  const TensorMap map_ = map_of(source_, TensorSwizzle::bytes_128, 64);
};

/// The place of element (row, col) of a box in shared memory. Rows follow each other without gaps. Address bits 4 to 6
/// are XORed with bits 7 to 9, as many of them as the span has.
u32 place_in_box(int row, int col, int cols, int span) {
  const u32 offset = static_cast<u32>((row * cols + col) * 2);
  return offset ^ (offset >> 7 & static_cast<u32>(span / 16 - 1)) << 4;
}

TEST_F(TensorCopies, BringEachElementToItsPlaceAndZerosFromOutside) {
  for (const auto& [swizzle, span] : kSwizzles) {
    const int cols = box_cols(swizzle, span), of_span = span;
    const TensorMap map = map_of(source_, swizzle, cols);
    for (const auto& [x, y] : kPlaces) {
      const std::string where = std::to_string(span) + " at " + std::to_string(x) + ", " + std::to_string(y);
      expect_good(
          [&, x = x, y = y] {
            make_barrier(1);
            if (thread_index() == 0) {
              ptx::mbarrier_arrive_expect_tx(kCopyBarrier, static_cast<u32>(cols * kBoxRows * 2));
              ptx::cp_async_bulk_tensor_2d_load(kShared, map, x, y, kCopyBarrier);
            }
            bar_sync();
            await(kCopyBarrier, 0);
            for (int row = thread_index(); row < kBoxRows; row += 32) {
              for (int col = 0; col < cols; ++col) {
                const bool inside = x + col >= 0 && x + col < kCols && y + row >= 0 && y + row < kRows;
                ASSERT_EQ(ptx::ld_shared_b16(kShared + place_in_box(row, col, cols, of_span)),
                          inside ? element(y + row, x + col) : 0)
                    << where << ": " << row << ", " << col;
              }
            }
          },
          kBlock);
    }
  }
}

/// Issues a load whose barrier expects `bytes`. Threads may have written or read the destination before.
void load_box(const TensorMap& map, u32 bytes, bool waits) {
  if (thread_index() == 0) {
    ptx::mbarrier_arrive_expect_tx(kCopyBarrier, bytes);
    ptx::cp_async_bulk_tensor_2d_load(kShared, map, 0, 0, kCopyBarrier);
  }
  if (waits) await(kCopyBarrier, 0);
}

TEST_F(TensorCopies, AreSeenByWhoWaitsForTheirBytes) {
  const auto kernel = [&](u32 bytes, bool waits) {
    return [this, bytes, waits] {
      make_barrier(1);
      bar_sync();
      load_box(map_, bytes, waits);
      static_cast<void>(ptx::ld_shared_b16(kShared + 2 * static_cast<u32>(thread_index())));
    };
  };
  expect_good(kernel(kBytes, true), kBlock);
  expect_bad(kernel(kBytes, false), kBlock);
  for (const u32 bytes : {0u, kBytes / 2, kBytes - 16, kBytes + 16}) expect_bad(kernel(bytes, true), kBlock);
}

TEST_F(TensorCopies, AreWaitedForBeforeTheBlockEnds) {
  const auto kernel = [&](bool waits) {
    return [this, waits] {
      make_barrier(1);
      bar_sync();
      load_box(map_, kBytes, waits && thread_index() == 7);
    };
  };
  expect_good(kernel(true), kBlock);
  expect_found(Hazard::conflict, Instruction::bulk_tensor_load, kernel(false), kBlock);
}

TEST_F(TensorCopies, DoNotOverwriteWhatIsBeingRead) {
  const auto kernel = [&](bool all_release) {
    return [this, all_release] {
      make_barrier(1);
      if (thread_index() == 0) ptx::mbarrier_init(kCopyBarrier + 8, all_release ? 32 : 31);
      bar_sync();
      load_box(map_, kBytes, true);
      static_cast<void>(ptx::ld_shared_b16(kShared + 2 * static_cast<u32>(thread_index())));
      if (all_release || thread_index() != 9) ptx::mbarrier_arrive(kCopyBarrier + 8);
      if (thread_index() != 0) return;
      await(kCopyBarrier + 8, 0);
      load_box(map_, kBytes, false);
      await(kCopyBarrier, 1);
    };
  };
  expect_good(kernel(true), kBlock);
  expect_bad(kernel(false), kBlock);
}

TEST_F(TensorCopies, NeedAFenceBehindPlainWrites) {
  const auto kernel = [&](bool fences) {
    return [this, fences] {
      make_barrier(1);
      ptx::st_shared_b16(kShared + 2 * static_cast<u32>(thread_index()), 1);
      if (fences) ptx::fence_proxy_async();
      bar_sync();
      load_box(map_, kBytes, true);
    };
  };
  expect_good(kernel(true), kBlock);
  const Finding f = expect_found(Hazard::conflict, Instruction::bulk_tensor_load, kernel(false), kBlock);
  EXPECT_NE(f.detail.find("no fence.proxy.async"), std::string::npos) << f.detail;
}

TEST_F(TensorCopies, NeedABarrierThatTheCopyEngineKnows) {
  const auto kernel = [&](bool fences) {
    return [this, fences] {
      make_barrier(1, fences);
      bar_sync();
      load_box(map_, kBytes, true);
    };
  };
  expect_good(kernel(true), kBlock);
  const Finding f = expect_found(Hazard::conflict, Instruction::bulk_tensor_load, kernel(false), kBlock);
  EXPECT_EQ(f.other, Instruction::mbarrier_init);
}

TEST_F(TensorCopies, HaveOperandsThatAreSound) {
  const auto load = [](const TensorMap& map, u32 shared, u32 barrier) {
    return [=] {
      make_barrier(1);
      if (thread_index() == 0) ptx::cp_async_bulk_tensor_2d_load(shared, map, 0, 0, barrier);
    };
  };
  constexpr auto kLoad = Instruction::bulk_tensor_load;
  expect_found(Hazard::bad_operand, kLoad, load(TensorMap{}, kShared, kCopyBarrier), kBlock);
  expect_found(Hazard::bad_operand, kLoad, load(map_, kShared, kCopyBarrier + 8), kBlock);
  expect_found(Hazard::misaligned, kLoad, load(map_, kShared + 64, kCopyBarrier), kBlock);
  expect_found(Hazard::out_of_bounds, kLoad, load(map_, kShared + kBytes + 128, kCopyBarrier), kBlock);
}

// ---- multicast ----

TEST_F(TensorCopies, PrefetchesLieWithinTheMatrixAndAwaitNobody) {
  const u64 first = source_.address(), second = first + static_cast<u64>(source_.shape().pitch_bytes);
  const u32 row = static_cast<u32>(kCols * 2) / 16 * 16;
  const auto prefetch = [](u64 address, u32 bytes) {
    return [=] {
      if (thread_index() == 0) ptx::cp_async_bulk_prefetch_l2(address, bytes);
      ptx::griddepcontrol_wait();
    };
  };
  expect_good(prefetch(first, row), kBlock);
  expect_good(prefetch(second, row), kBlock);
  const u32 gap = static_cast<u32>(second - first) - row;
  for (const auto& [address, bytes] :
       {std::pair{first - 16, row}, {first, row + 16}, {second + 16, row}, {first, row + gap + 16}}) {
    expect_found(Hazard::out_of_bounds, Instruction::bulk_prefetch_l2, prefetch(address, bytes), kBlock);
  }
  for (const auto& [address, bytes] : {std::pair{first + 8, u32{16}}, {first, u32{24}}}) {
    expect_found(Hazard::misaligned, Instruction::bulk_prefetch_l2, prefetch(address, bytes), kBlock);
  }
}

TEST_F(TensorCopies, GoToEachBlockOfTheMaskAndAreCountedThere) {
  const auto kernel = [&](u16 mask, u32 bytes_per_block) {
    return [this, mask, bytes_per_block] {
      make_barrier(1);
      meet_cluster();
      const u32 rank = ptx::cluster_ctarank();
      if (thread_index() == 0) {
        ptx::mbarrier_arrive_expect_tx(kCopyBarrier, bytes_per_block);
        ptx::cp_async_bulk_tensor_2d_multicast(kShared + rank * kBytes, map_, 0, static_cast<int>(rank) * 64,
                                               kCopyBarrier, mask);
      }
      await(kCopyBarrier, 0);
      for (int part = 0; part < 2 && mask == 3 && bytes_per_block == 2 * kBytes; ++part) {
        const int row = thread_index();
        EXPECT_EQ(ptx::ld_shared_b16(kShared + static_cast<u32>(part) * kBytes + place_in_box(row, 5, 64, 128)),
                  element(part * 64 + row, 5));
      }
      meet_cluster();
    };
  };
  expect_good(kernel(3, 2 * kBytes), kPair);
  expect_bad(kernel(3, kBytes), kPair);
  expect_bad(kernel(1, 2 * kBytes), kPair);
  expect_found(Hazard::bad_operand, Instruction::bulk_tensor_multicast, kernel(7, 2 * kBytes), kPair);
  expect_found(Hazard::bad_operand, Instruction::bulk_tensor_multicast, kernel(0, 2 * kBytes), kPair);
}

TEST_F(TensorCopies, DoNotOverwriteWhatAnotherBlockReads) {
  const auto kernel = [&](bool tells) {
    return [this, tells] {
      make_barrier(1);
      if (thread_index() == 0) {
        ptx::mbarrier_init(kCopyBarrier + 8, tells ? 64 : 32);
        ptx::fence_mbarrier_init();
      }
      meet_cluster();
      const bool copies = ptx::cluster_ctarank() == 0 && thread_index() == 0;
      for (u32 pass = 0; pass < 2; ++pass) {
        if (copies && pass == 1) await(kCopyBarrier + 8, 0);
        if (thread_index() == 0) ptx::mbarrier_arrive_expect_tx(kCopyBarrier, kBytes);
        if (copies) ptx::cp_async_bulk_tensor_2d_multicast(kShared, map_, 0, 0, kCopyBarrier, 3);
        await(kCopyBarrier, pass);
        static_cast<void>(ptx::ld_shared_b16(kShared + 2 * static_cast<u32>(thread_index())));
        if (pass == 0 && (tells || ptx::cluster_ctarank() == 0))
          ptx::mbarrier_arrive_cluster(ptx::mapa(kCopyBarrier + 8, 0));
      }
      meet_cluster();
    };
  };
  expect_good(kernel(true), kPair);
  expect_bad(kernel(false), kPair);
}

// ---- stores ----

TEST_F(TensorCopies, StoreWhatLiesInsideTheTensor) {
  for (const auto& [swizzle, span] : kSwizzles) {
    const int cols = box_cols(swizzle, span), of_span = span;
    for (const auto& [x, y] : kPlaces) {
      if (x < 0 || y < 0) continue;
      Allocation& target = tensor("D", 96, true);
      const TensorMap map = map_of(target, swizzle, cols);
      const auto kernel = [&, x = x, y = y] {
        for (int row = thread_index(); row < kBoxRows; row += 32) {
          for (int col = 0; col < cols; ++col) {
            ptx::st_shared_b16(kShared + place_in_box(row, col, cols, of_span), element(row, col));
          }
        }
        ptx::fence_proxy_async();
        bar_sync();
        if (thread_index() != 0) return;
        ptx::cp_async_bulk_tensor_2d_store(map, x, y, kShared);
        ptx::cp_async_bulk_commit_group();
        ptx::cp_async_bulk_wait_group<0>();
      };
      const LaunchReport report = run(kernel, kBlock);
      ASSERT_TRUE(report.findings.empty()) << text(report.findings);
      for (int row = 0; row < kRows; ++row) {
        for (int col = 0; col < 96; ++col) {
          u16 found = 0;
          target.load(row, col * 2, &found, 2);
          const bool written = row >= y && row < y + kBoxRows && col >= x && col < x + cols;
          ASSERT_EQ(found, written ? element(row - y, col - x) : 0xdead) << span << ": " << row << ", " << col;
        }
      }
    }
  }
}

TEST_F(TensorCopies, StoreWholeChunksThoughARowEndsWithin) {
  const TensorMap map = map_of(tensor("D", 100, true), TensorSwizzle::bytes_128, 64);
  const auto kernel = [=](int x) {
    return [=] {
      for (u32 at = 0; at < kBytes; at += 128)
        ptx::st_shared_b32(kShared + at + static_cast<u32>(thread_index()) * 4, 1);
      ptx::fence_proxy_async();
      bar_sync();
      if (thread_index() != 0) return;
      ptx::cp_async_bulk_tensor_2d_store(map, x, 0, kShared);
      ptx::cp_async_bulk_commit_group();
      ptx::cp_async_bulk_wait_group<0>();
    };
  };
  expect_good(kernel(0), kBlock);
  expect_found(Hazard::out_of_bounds, Instruction::bulk_tensor_store, kernel(64), kBlock);
  expect_found(Hazard::bad_operand, Instruction::bulk_tensor_store, kernel(-8), kBlock);
}

enum class Wait { none, before_commit, for_reads, for_all, one_short };

TEST_F(TensorCopies, StoresAreWaitedForBeforeTheirSourceIsWritten) {
  const TensorMap map = map_of(tensor("D", 96, true), TensorSwizzle::none, 16);
  const auto kernel = [=](bool fences, Wait wait, bool writes) {
    return [=] {
      for (u32 at = 0; at < 64 * 32; at += 128)
        ptx::st_shared_b32(kShared + at + static_cast<u32>(thread_index()) * 4, 1);
      if (fences) ptx::fence_proxy_async();
      bar_sync();
      if (thread_index() == 0) {
        ptx::cp_async_bulk_tensor_2d_store(map, 0, 0, kShared);
        if (wait == Wait::before_commit) ptx::cp_async_bulk_wait_group<0>();
        ptx::cp_async_bulk_commit_group();
        if (wait == Wait::for_reads) ptx::cp_async_bulk_wait_group_read<0>();
        if (wait == Wait::for_all) ptx::cp_async_bulk_wait_group<0>();
        if (wait == Wait::one_short) ptx::cp_async_bulk_wait_group_read<1>();
      }
      bar_sync();
      if (writes) ptx::st_shared_b32(kShared + static_cast<u32>(thread_index()) * 4, 2);
    };
  };
  expect_good(kernel(true, Wait::for_reads, true), kBlock);
  expect_good(kernel(true, Wait::for_all, true), kBlock);
  for (const Wait wait : {Wait::none, Wait::before_commit, Wait::one_short}) {
    expect_found(Hazard::conflict, Instruction::st_shared_b32, kernel(true, wait, true), kBlock);
  }
  expect_found(Hazard::conflict, Instruction::bulk_tensor_store, kernel(false, Wait::for_all, false), kBlock);
}

TEST_F(TensorCopies, StoresAreDoneBeforeWhatTheyWroteIsRead) {
  const Allocation& target = tensor("D", 96, true);
  const TensorMap map = map_of(target, TensorSwizzle::none, 16);
  const auto kernel = [=, d = target.address()](bool is_done) {
    return [=] {
      for (u32 at = 0; at < 64 * 32; at += 128)
        ptx::st_shared_b32(kShared + at + static_cast<u32>(thread_index()) * 4, 7);
      ptx::fence_proxy_async();
      bar_sync();
      if (thread_index() != 0) return;
      ptx::cp_async_bulk_tensor_2d_store(map, 0, 0, kShared);
      ptx::cp_async_bulk_commit_group();
      is_done ? ptx::cp_async_bulk_wait_group<0>() : ptx::cp_async_bulk_wait_group_read<0>();
      const u32 found = ptx::ld_global_b32(d);
      if (is_done) {
        EXPECT_EQ(found, 7u);
      }
    };
  };
  expect_good(kernel(true), kBlock);
  expect_found(Hazard::conflict, Instruction::ld_global_b32, kernel(false), kBlock);
}

TEST_F(TensorCopies, StoresAreReadBeforeTheirThreadEnds) {
  const TensorMap map = map_of(tensor("D", 96, true), TensorSwizzle::none, 16);
  expect_found(
      Hazard::in_flight, Instruction::bulk_tensor_store,
      [&] {
        for (u32 at = 0; at < 64 * 32; at += 128) {
          ptx::st_shared_b32(kShared + at + static_cast<u32>(thread_index()) * 4, 1);
        }
        ptx::fence_proxy_async();
        bar_sync();
        if (thread_index() == 0) ptx::cp_async_bulk_tensor_2d_store(map, 0, 0, kShared);
      },
      kBlock);
}

}  // namespace
}  // namespace hotgemm::emulate
