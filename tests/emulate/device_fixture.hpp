#pragma once

#include "emulate/device.hpp"
#include "ptx/barrier.hpp"
#include "ptx/bulk_copy.hpp"
#include "ptx/cluster.hpp"
#include "ptx/convert.hpp"
#include "ptx/elect.hpp"
#include "ptx/grid_dependency.hpp"
#include "ptx/index.hpp"
#include "ptx/mbarrier.hpp"
#include "ptx/memory.hpp"
#include "ptx/mma.hpp"
#include "ptx/named_barrier.hpp"
#include "ptx/stmatrix.hpp"
#include "ptx/trap.hpp"
#include "ptx/warp.hpp"
#include "ptx/wgmma.hpp"
#include "ptx/wmma.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace hotgemm::emulate {

inline constexpr u32 kShared = SharedMemory::kBase;

inline std::string text(const std::vector<Finding>& findings) {
  std::string all;
  for (const Finding& finding : findings) all += "\n  " + to_string(finding);
  return all;
}

inline void await(u32 barrier, u32 parity) {
  while (!ptx::mbarrier_try_wait_parity(barrier, parity)) {
  }
}

inline void meet_cluster() {
  ptx::barrier_cluster_arrive();
  ptx::barrier_cluster_wait();
}

/// Elements of the matrices that instructions multiply: small integers, of which no two neighbours are equal.
inline int a_value(int row, int k) { return (row * 7 + k * 3) % 11 - 5; }
inline int b_value(int k, int col) { return (k * 5 + col * 2) % 9 - 4; }

/// Runs small kernels, written as functions, on its own device.
class EmulatedDevice : public testing::Test {
 protected:
  struct Shape {
    int threads = 64;
    std::uint32_t blocks = 1;
    int shared_bytes = 1024;
    std::uint64_t seed = 1;
    std::uint32_t cluster = 1;
    bool counts_accesses = false;
  };

  LaunchReport run(const std::function<void()>& kernel, const Shape& shape) {
    return device_.launch({.blocks = shape.blocks,
                           .threads_per_block = shape.threads,
                           .shared_bytes = shape.shared_bytes,
                           .blocks_per_cluster = shape.cluster,
                           .seed = shape.seed,
                           .counts_accesses = shape.counts_accesses},
                          kernel);
  }
  LaunchReport run(const std::function<void()>& kernel) { return run(kernel, Shape{}); }

  void expect_good(const std::function<void()>& kernel, const Shape& shape) {
    for (std::uint64_t seed = 1; seed < 8; ++seed) {
      Shape seeded = shape;
      seeded.seed = seed;
      const LaunchReport report = run(kernel, seeded);
      ASSERT_TRUE(report.findings.empty()) << text(report.findings);
    }
  }
  void expect_good(const std::function<void()>& kernel) { expect_good(kernel, Shape{}); }

  /// Expects for every seed that one of the findings is `hazard` in `instruction`. With Instruction::none, any
  /// instruction is accepted, because the seed decides which of two accesses is the second, which is reported. Returns
  /// the finding of the last seed.
  Finding expect_found(Hazard hazard, Instruction instruction, const std::function<void()>& kernel,
                       const Shape& shape) {
    Finding found;
    for (std::uint64_t seed = 1; seed < 8; ++seed) {
      Shape seeded = shape;
      seeded.seed = seed;
      const LaunchReport report = run(kernel, seeded);
      bool is_there = false;
      for (const Finding& finding : report.findings) {
        if (finding.hazard != hazard) continue;
        if (instruction != Instruction::none && finding.instruction != instruction) continue;
        is_there = true;
        found = finding;
      }
      EXPECT_TRUE(is_there) << "seed " << seed << ":" << text(report.findings);
      EXPECT_EQ(found.seed, seed);
    }
    return found;
  }
  Finding expect_found(Hazard hazard, Instruction instruction, const std::function<void()>& kernel) {
    return expect_found(hazard, instruction, kernel, Shape{});
  }
  /// Expects a finding for every seed. The seed may decide which finding it is.
  void expect_bad(const std::function<void()>& kernel, const Shape& shape) {
    for (std::uint64_t seed = 1; seed < 8; ++seed) {
      Shape seeded = shape;
      seeded.seed = seed;
      EXPECT_FALSE(run(kernel, seeded).findings.empty()) << "seed " << seed;
    }
  }
  void expect_bad(const std::function<void()>& kernel) { expect_bad(kernel, Shape{}); }
  void expect_conflict(const std::function<void()>& kernel, const Shape& shape) {
    expect_found(Hazard::conflict, Instruction::none, kernel, shape);
  }
  void expect_conflict(const std::function<void()>& kernel) { expect_conflict(kernel, Shape{}); }

  /// A matrix with `rows` rows of `row_bytes` bytes 0, 1, 2, …; the rows are 64 bytes further apart than their length.
  Allocation& matrix(const char* name, std::int64_t rows, std::int64_t row_bytes, bool is_writable = false) {
    Allocation& made = device_.memory().add({.name = name,
                                             .rows = rows,
                                             .row_bytes = row_bytes,
                                             .pitch_bytes = row_bytes + 64,
                                             .is_writable = is_writable});
    std::vector<std::uint8_t> row(static_cast<std::size_t>(row_bytes));
    for (std::size_t i = 0; i < row.size(); ++i) row[i] = static_cast<std::uint8_t>(i);
    for (std::int64_t i = 0; i < rows; ++i) made.store(i, 0, row.data(), row.size());
    return made;
  }

  Device device_;
};

}  // namespace hotgemm::emulate
