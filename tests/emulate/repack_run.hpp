#pragma once

// Runs the kernel that repacks operands and checks what it wrote.

#include "emulate/device.hpp"
#include "shared/repack_args.hpp"

#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace hotgemm::emulate {

struct RepackShape {
  int rows = 0;
  int cols = 0;
  int gap = 0;     ///< elements between the end of a row and the next row
  int offset = 0;  ///< bytes of the first element from a multiple of 256
};
struct RepackCase {
  RepackShape first;
  RepackShape second;
  std::uint32_t blocks = 2;
};

inline std::string to_string(const RepackCase& c) {
  const auto text = [](const RepackShape& s) {
    return std::to_string(s.rows) + "x" + std::to_string(s.cols) + " gap " + std::to_string(s.gap) + " at " +
           std::to_string(s.offset);
  };
  return text(c.first) + ", " + text(c.second) + ", " + std::to_string(c.blocks) + " blocks";
}

/// Every misalignment, with rows shorter than a chunk, of a few chunks, and longer than a unit; both matrices and one
/// alone; more parts than warps.
inline std::vector<RepackCase> repack_cases() {
  std::vector<RepackCase> cases;
  for (int offset = 0; offset < 16; offset += 2) {
    cases.push_back({{.rows = 9, .cols = 67, .gap = 0, .offset = offset}, {}});
    cases.push_back({{}, {.rows = 40, .cols = 13, .gap = offset / 2, .offset = 16 - offset}});
  }
  for (const int cols : {1, 3, 8, 31, 64, 130}) {
    cases.push_back({{.rows = 70, .cols = cols, .gap = 0, .offset = 2}, {.rows = 5, .cols = cols, .gap = 3}, 1});
  }
  cases.push_back({{.rows = 40, .cols = 72, .gap = 8}, {.rows = 40, .cols = 8, .gap = 56}});
  cases.push_back({{.rows = 1, .cols = 1, .offset = 6}, {.rows = 1, .cols = 2345, .offset = 14}});
  cases.push_back({{.rows = 30, .cols = 1101, .offset = 10}, {.rows = 24, .cols = 1100, .gap = 1, .offset = 8}, 1});
  return cases;
}

/// Never zero, so that padding differs from elements.
inline std::uint16_t repack_element(int matrix, std::int64_t row, std::int64_t col) {
  return static_cast<std::uint16_t>(1 + (matrix * 31 + row * 251 + col * 7) % 65521);
}

/// The memory of one matrix and of its copy.
struct RepackMemory {
  Allocation* from;
  Allocation* to;
  RepackMatrix matrix;
};

/// The matrix is one row of memory for the device, gaps included, because granules reach into them: its first and last
/// bytes are the kernel's limits. If no granule of a row does, gaps are out of bounds.
inline RepackMemory make_repack_memory(Device& device, const RepackShape& shape, int index) {
  if (shape.rows == 0) return {};
  const std::int64_t ld = shape.cols + shape.gap, elements = (shape.rows - 1) * ld + shape.cols;
  const std::int64_t to_ld = repacked_ld(shape.cols), bytes = shape.rows * to_ld * 2;
  std::vector<std::uint16_t> data(static_cast<std::size_t>(elements));
  for (std::int64_t i = 0; i < elements; ++i) {
    data[static_cast<std::size_t>(i)] = repack_element(index, i / ld, i % ld);
  }
  const bool is_apart = shape.gap > 0 && ld % 8 == 0 && shape.cols % 8 == 0 && shape.offset % 16 == 0;
  Allocation& from = device.memory().add({.name = "operand",
                                          .rows = is_apart ? shape.rows : 1,
                                          .row_bytes = is_apart ? shape.cols * 2 : elements * 2,
                                          .pitch_bytes = is_apart ? ld * 2 : elements * 2,
                                          .offset_bytes = shape.offset});
  for (std::int64_t row = 0; row < (is_apart ? shape.rows : 1); ++row) {
    from.store(row, 0, data.data() + row * ld, static_cast<std::size_t>(is_apart ? shape.cols : elements) * 2);
  }
  Allocation& to =
      device.memory().add({.name = "copy", .rows = 1, .row_bytes = bytes, .pitch_bytes = bytes, .is_writable = true});
  return {&from,
          &to,
          {.from = from.address(),
           .to = to.address(),
           .ld = ld,
           .rows = shape.rows,
           .cols = shape.cols,
           .row_chunks = static_cast<unsigned>(to_ld / kRepackChunkElements)}};
}

inline std::string check_repacked(const RepackMemory& memory, int index) {
  if (memory.to == nullptr) return {};
  const std::int64_t ld = repacked_ld(memory.matrix.cols);
  std::vector<std::uint16_t> copy(static_cast<std::size_t>(memory.matrix.rows * ld));
  memory.to->load(0, 0, copy.data(), copy.size() * 2);
  for (std::int64_t row = 0; row < memory.matrix.rows; ++row) {
    for (std::int64_t col = 0; col < ld; ++col) {
      const std::uint16_t expected = col < memory.matrix.cols ? repack_element(index, row, col) : std::uint16_t{0};
      const std::uint16_t found = copy[static_cast<std::size_t>(row * ld + col)];
      if (found != expected) {
        return "wrong element at (" + std::to_string(row) + ", " + std::to_string(col) + ") of matrix " +
               std::to_string(index);
      }
    }
  }
  return {};
}

/// The first error of a run of `kernel`; empty if there is none.
inline std::string repack_complaint(const RepackCase& c, std::uint64_t seed,
                                    const std::function<void(const RepackArgs&)>& kernel) {
  Device device;
  const RepackMemory first = make_repack_memory(device, c.first, 0), second = make_repack_memory(device, c.second, 1);
  const RepackArgs args{.first = first.matrix, .second = second.matrix, .prefetches = 1};
  const LaunchReport report = device.launch({.blocks = c.blocks,
                                             .threads_per_block = kRepackThreads,
                                             .shared_bytes = 0,
                                             .blocks_per_cluster = 1,
                                             .seed = seed},
                                            [&] { kernel(args); });
  if (!report.findings.empty()) return to_string(report.findings.front());
  const std::string wrong = check_repacked(first, 0);
  return wrong.empty() ? check_repacked(second, 1) : wrong;
}

}  // namespace hotgemm::emulate
