#pragma once

// Runs the kernel that repacks operands and checks what it wrote.

#include "emulate/device.hpp"
#include "shared/repack_args.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace hotgemm::emulate {

/// A matrix as it is stored.
struct RepackShape {
  int rows = 0;
  int cols = 0;
  int gap = 0;     ///< elements between the end of a row and the next row
  int offset = 0;  ///< bytes of the first element from a multiple of 256
  int element_bytes = 2;
  bool is_transposed = false;  ///< the copy is the transpose
  int products = 1;            ///< number of such matrices
  int apart = 0;  ///< elements from the end of the last row's gap to the next matrix; below 0: side by side

  std::int64_t ld() const { return cols + gap; }
  std::int64_t stride() const { return rows * ld() + apart; }
};
struct RepackCase {
  RepackShape first;
  RepackShape second;
  std::uint32_t blocks = 2;
};

inline std::string to_string(const RepackCase& c) {
  const auto text = [](const RepackShape& s) {
    return std::to_string(s.rows) + "x" + std::to_string(s.cols) + " gap " + std::to_string(s.gap) + " at " +
           std::to_string(s.offset) + " of " + std::to_string(s.element_bytes) + " bytes" +
           (s.is_transposed ? " transposed" : "") +
           (s.products > 1 ? ", " + std::to_string(s.products) + " apart by " + std::to_string(s.apart) : "");
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
  for (int offset = 0; offset < 16; ++offset) {  // single bytes
    cases.push_back({{.rows = 19, .cols = 67, .offset = offset, .element_bytes = 1},
                     {.rows = 70, .cols = 1, .offset = 16 - offset, .element_bytes = 1}});
  }
  cases.push_back({{.rows = 40, .cols = 33, .gap = 1, .offset = 4, .element_bytes = 4}, {}});
  // Transposes: less than a tile, whole tiles and parts of tiles; words, halves and single bytes.
  for (const int offset : {0, 4, 12}) {
    for (const int gap : {0, 3, 17}) {
      cases.push_back(
          {{.rows = 37, .cols = 70, .gap = gap, .offset = offset, .element_bytes = 4, .is_transposed = true},
           {.rows = 3, .cols = 5, .gap = gap, .element_bytes = 4, .is_transposed = true}});
      cases.push_back(
          {{.rows = 50, .cols = 260, .gap = gap, .offset = offset, .element_bytes = 1, .is_transposed = true},
           {.rows = 33, .cols = 131, .gap = gap, .offset = 1, .element_bytes = 1, .is_transposed = true},
           1});
      cases.push_back({{.rows = 70, .cols = 31, .gap = gap, .offset = offset, .is_transposed = true},
                       {.rows = 130, .cols = 66, .gap = gap, .offset = 2, .is_transposed = true}});
    }
  }
  cases.push_back({{.rows = 64, .cols = 32, .is_transposed = true}, {.rows = 1, .cols = 1, .is_transposed = true}});
  cases.push_back({{.rows = 1, .cols = 1, .element_bytes = 1, .is_transposed = true},
                   {.rows = 64, .cols = 128, .element_bytes = 1, .is_transposed = true}});
  // Words of four single bytes, of which the last of a row has two.
  cases.push_back({{.rows = 33, .cols = 130, .gap = 18, .element_bytes = 1, .is_transposed = true}, {}});
  cases.push_back({{.rows = 20, .cols = 30, .offset = 2, .element_bytes = 1},
                   {.rows = 64, .cols = 64, .element_bytes = 4, .is_transposed = true}});
  // Matrices of a batch: of less than a unit and of several, more of them than warps.
  for (const int apart : {1, 40}) {
    cases.push_back({{.rows = 5, .cols = 67, .offset = 6, .products = 3, .apart = apart},
                     {.rows = 40, .cols = 131, .gap = 2, .offset = 2, .products = 2, .apart = apart}});
    cases.push_back({{.rows = 3, .cols = 5, .offset = 10, .products = 40, .apart = apart}, {.rows = 9, .cols = 9}, 1});
    cases.push_back(
        {{.rows = 37, .cols = 70, .element_bytes = 4, .is_transposed = true, .products = 3, .apart = apart},
         {.rows = 33, .cols = 131, .element_bytes = 1, .is_transposed = true, .products = 2, .apart = apart},
         1});
    cases.push_back({{.rows = 37, .cols = 10, .is_transposed = true, .products = 3, .apart = apart}, {}});
  }
  // Side by side: the gap of a row has the rows of the others.
  cases.push_back({{.rows = 40, .cols = 35, .gap = 70, .offset = 6, .products = 3, .apart = 35 - 40 * 105},
                   {.rows = 9, .cols = 67, .gap = 67, .offset = 2, .products = 2, .apart = 67 - 9 * 134}});
  return cases;
}

/// The element at a place of the matrix as it is stored: never zero, so that padding differs from elements.
inline std::uint32_t repack_element(int matrix, const RepackShape& shape, std::int64_t row, std::int64_t col) {
  const std::int64_t numbers = shape.element_bytes == 1 ? 251 : 65521;
  return static_cast<std::uint32_t>(1 + (matrix * 31 + row * 257 + col * 7) % numbers);
}
/// The number of the first row of a matrix of a batch, for repack_element.
inline std::int64_t first_row_of(const RepackShape& shape, std::int64_t product) { return product * (shape.rows + 3); }

/// The memory of one matrix and of its copy.
struct RepackMemory {
  RepackShape shape;
  Allocation* from;
  Allocation* to;
  RepackMatrix matrix;
};

/// A matrix is one row of memory for the device, gaps included, because granules reach into them: its first and last
/// bytes are the kernel's limits. If no granule of a row of a single matrix does, gaps are out of bounds. The memory
/// between matrices that lie behind each other is out of bounds.
inline RepackMemory make_repack_memory(Device& device, const RepackShape& shape, int index) {
  if (shape.rows == 0) return {};
  const bool is_beside = shape.apart < 0;
  const std::int64_t ld = shape.ld(), beyond_first = is_beside ? (shape.products - 1) * shape.stride() : 0;
  const std::int64_t elements = (shape.rows - 1) * ld + shape.cols + beyond_first, element = shape.element_bytes;
  const int rows = shape.is_transposed ? shape.cols : shape.rows, cols = shape.is_transposed ? shape.rows : shape.cols;
  const std::int64_t to_pitch = repacked_pitch(cols * element), bytes = shape.products * rows * to_pitch;
  const bool has_whole_granules = ld * element % 16 == 0 && shape.cols * element % 16 == 0 && shape.offset % 16 == 0;
  // Prefetches reach into gaps of less than a chunk.
  const bool is_apart = shape.gap > 0 && (has_whole_granules || (shape.is_transposed && shape.gap * element >= 16));
  const bool is_batch = shape.products > 1 && !is_beside;
  const std::int64_t device_rows = is_batch ? shape.products : is_apart ? shape.rows : 1;
  const std::int64_t row_elements = is_apart && !is_batch ? shape.cols : elements;
  const std::int64_t pitch = is_batch ? shape.stride() : is_apart ? ld : elements;
  Allocation& from = device.memory().add({.name = "operand",
                                          .rows = device_rows,
                                          .row_bytes = row_elements * element,
                                          .pitch_bytes = pitch * element,
                                          .offset_bytes = shape.offset,
                                          .cell_bytes = std::min(shape.element_bytes, 2)});
  for (std::int64_t row = 0; row < device_rows; ++row) {
    std::vector<std::uint8_t> data(static_cast<std::size_t>(row_elements * element));
    for (std::int64_t i = 0; i < row_elements; ++i) {
      const std::int64_t product = is_batch ? row : is_beside ? i % ld / shape.stride() : 0;
      const std::int64_t of_row = is_batch || is_beside ? first_row_of(shape, product) : row;
      const std::int64_t col = is_beside ? i % ld % shape.stride() : i % ld;
      const std::uint32_t value = repack_element(index, shape, of_row + i / ld, col);
      std::memcpy(data.data() + i * element, &value, static_cast<std::size_t>(element));
    }
    from.store(row, 0, data.data(), data.size());
  }
  Allocation& to =
      device.memory().add({.name = "copy", .rows = 1, .row_bytes = bytes, .pitch_bytes = bytes, .is_writable = true});
  return {shape,
          &from,
          &to,
          {.from = from.address(),
           .to = to.address(),
           .pitch = ld * element,
           .row_bytes = cols * element,
           .rows = rows,
           .row_chunks = static_cast<unsigned>(to_pitch / kRepackChunkBytes),
           .transposed_bytes = shape.is_transposed ? shape.element_bytes : 0,
           .products = static_cast<unsigned>(shape.products),
           .stride = shape.stride() * element}};
}

/// `copy` is that of the matrix whose first row has number `first_row`.
inline std::string check_copy(const RepackMemory& memory, int index, const std::uint8_t* copy, std::int64_t first_row) {
  const RepackShape& shape = memory.shape;
  const std::int64_t element = shape.element_bytes, pitch = memory.matrix.row_chunks * std::int64_t{kRepackChunkBytes};
  for (std::int64_t row = 0; row < memory.matrix.rows; ++row) {
    for (std::int64_t col = 0; col < pitch / element; ++col) {
      const std::int64_t from_row = shape.is_transposed ? col : row, from_col = shape.is_transposed ? row : col;
      const bool is_padding = col * element >= memory.matrix.row_bytes;
      const std::uint32_t expected = is_padding ? 0 : repack_element(index, shape, first_row + from_row, from_col);
      std::uint32_t found = 0;
      std::memcpy(&found, copy + row * pitch + col * element, static_cast<std::size_t>(element));
      if (found != expected) {
        return "wrong element at (" + std::to_string(row) + ", " + std::to_string(col) + ") of operand " +
               std::to_string(index) + ", whose first row is " + std::to_string(first_row);
      }
    }
  }
  return {};
}

inline std::string check_repacked(const RepackMemory& memory, int index) {
  if (memory.to == nullptr) return {};
  const std::size_t bytes = memory.matrix.chunks() * kRepackChunkBytes;
  std::vector<std::uint8_t> copies(static_cast<std::size_t>(memory.shape.products) * bytes);
  memory.to->load(0, 0, copies.data(), copies.size());
  for (int product = 0; product < memory.shape.products; ++product) {
    const std::uint8_t* copy = copies.data() + static_cast<std::size_t>(product) * bytes;
    std::string wrong = check_copy(memory, index, copy, first_row_of(memory.shape, product));
    if (!wrong.empty()) return wrong;
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
