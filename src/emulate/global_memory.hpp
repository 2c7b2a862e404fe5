#pragma once

#include "emulate/thread.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace hotgemm::emulate {

/// A row-major matrix in the emulated device's memory, as a kernel may touch it: the bytes between its rows, and those
/// before and after, are out of bounds.
struct MatrixShape {
  std::string name;  ///< in reports: "A"
  std::int64_t rows = 0;
  std::int64_t row_bytes = 0;
  std::int64_t pitch_bytes = 0;  ///< from row to row, at least row_bytes
  int offset_bytes = 0;          ///< of the address from a 256-byte boundary; even
  bool is_writable = false;      ///< by kernels
};

/// A matrix and what is known of each cell of it.
class Allocation {
 public:
  Allocation(MatrixShape shape, std::uint64_t address);

  const MatrixShape& shape() const { return shape_; }
  std::uint64_t address() const { return address_; }

  /// The host's accesses: `row` from its first byte. `store` makes the bytes initialised.
  void store(std::int64_t row, std::int64_t first_byte, const void* from, std::size_t bytes);
  void load(std::int64_t row, std::int64_t first_byte, void* to, std::size_t bytes) const;

  /// Kernels' accesses. False, and nothing done, if reported as misaligned, out of bounds or not allowed. A read of
  /// fewer bytes than its alignment is one of a copy that fills up with zeros.
  bool read(const Thread& thread, Instruction instruction, std::uint64_t address, void* to, int alignment, int bytes);
  bool write(const Thread& thread, Instruction instruction, std::uint64_t address, const void* from, int bytes) {
    return write(thread, thread.access(instruction), address, from, bytes);
  }
  /// The same, done by somebody else for the thread. A null `from` leaves the bytes for `land`.
  bool write(const Thread& thread, const Access& access, std::uint64_t address, const void* from, int bytes);
  void land(std::uint64_t address, const void* from, int bytes);
  /// Nothing but a look: multiples of 16 bytes, of rows alone.
  void prefetch(const Thread& thread, Instruction instruction, std::uint64_t address, std::uint32_t bytes) const;

  /// A launch has ended: its accesses are ordered before those of the next.
  void forget_accesses();

 private:
  struct Touch {
    Access access;
    std::uint32_t block = 0;
  };
  struct GlobalCell {
    Touch writer, reader;
  };

  std::size_t offset(std::int64_t row, std::int64_t byte) const {
    return static_cast<std::size_t>(row * shape_.pitch_bytes + byte);
  }
  bool is_valid(const Thread& thread, Instruction instruction, std::uint64_t address, int alignment, int bytes) const;
  bool conflicts(const Thread& thread, Instruction instruction, const Touch& touch) const;
  void report_place(const Thread& thread, Hazard hazard, Instruction instruction, std::uint64_t address,
                    int bytes) const;
  void report_conflict(const Thread& thread, Instruction instruction, std::uint64_t address, int bytes,
                       const Touch& touch, const char* did) const;
  std::string element_name(std::uint64_t address) const;

  MatrixShape shape_;
  std::uint64_t address_;
  std::vector<std::uint8_t> bytes_;
  std::vector<bool> is_initialised_;  // per cell
  std::vector<GlobalCell> cells_;     // of writable matrices
};

/// The global memory of an emulated device. Addresses are its own, the same in every run; they cannot be dereferenced.
class GlobalMemory {
 public:
  /// A matrix whose bytes are uninitialised; lives as long as this object. Throws Error{invalid_argument}.
  Allocation& add(MatrixShape shape);

  /// What cannot be read is all bits set, and reported.
  void read(const Thread& thread, Instruction instruction, std::uint64_t address, void* to, int alignment, int bytes);
  void write(const Thread& thread, Instruction instruction, std::uint64_t address, const void* from, int bytes);
  /// A copy engine's: `begin_write` for the thread that issues it, and `land` with the bytes if that returned true.
  bool begin_write(const Thread& thread, const Access& access, std::uint64_t address, int bytes);
  void land(std::uint64_t address, const void* from, int bytes);
  void prefetch(const Thread& thread, Instruction instruction, std::uint64_t address, std::uint32_t bytes);
  void forget_accesses();

 private:
  // Each allocation has 2^40 bytes of addresses to itself and lies in their middle, so that an address that misses it,
  // above or below, still names it.
  static constexpr int kWindowBits = 40;
  static constexpr std::uint64_t kMiddle = std::uint64_t{1} << (kWindowBits - 1);

  Allocation* find(const Thread& thread, Instruction instruction, std::uint64_t address, int bytes);

  std::deque<Allocation> allocations_;
};

}  // namespace hotgemm::emulate
