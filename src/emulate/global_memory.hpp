#pragma once

#include "emulate/thread.hpp"

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace hotgemm::emulate {

/// A row-major matrix in the emulated device's memory. Kernels may access only its rows: the bytes between, before and
/// after the rows are out of bounds.
struct MatrixShape {
  std::string name;  ///< in reports: "A"
  std::int64_t rows = 0;
  std::int64_t row_bytes = 0;
  std::int64_t pitch_bytes = 0;  ///< distance between rows, at least row_bytes
  int offset_bytes = 0;          ///< of the matrix from a 256-byte boundary, like the pitch a multiple of cell_bytes
  int cell_bytes = 2;            ///< the smallest access: its bytes are tracked together
  bool is_writable = false;      ///< by kernels
};

/// A matrix, with the state of each of its cells.
class Allocation {
 public:
  Allocation(MatrixShape shape, std::uint64_t address);

  const MatrixShape& shape() const { return shape_; }
  std::uint64_t address() const { return address_; }

  /// Accesses of the host: bytes of `row`, from `first_byte` on. `store` makes the bytes initialised.
  void store(std::int64_t row, std::int64_t first_byte, const void* from, std::size_t bytes);
  void load(std::int64_t row, std::int64_t first_byte, void* to, std::size_t bytes) const;

  /// Accesses of kernels. An access that is misaligned, out of bounds or not allowed is reported and has no effect; the
  /// result is then false. A read with fewer bytes than `alignment` is that of a copy that fills the rest with zeros.
  bool read(const Thread& thread, Instruction instruction, std::uint64_t address, void* to, int alignment, int bytes);
  bool write(const Thread& thread, Instruction instruction, std::uint64_t address, const void* from, int bytes) {
    return write(thread, thread.access(instruction), address, from, bytes);
  }
  /// A write by an agent on behalf of the thread. If `from` is null, `land` writes the bytes later.
  bool write(const Thread& thread, const Access& access, std::uint64_t address, const void* from, int bytes);
  void land(std::uint64_t address, const void* from, int bytes);
  /// Checks a prefetch: the bytes must be a multiple of 16 and lie in rows.
  void prefetch(const Thread& thread, Instruction instruction, std::uint64_t address, std::uint32_t bytes) const;

  /// Called when a launch has ended: its accesses precede those of the next launch.
  void forget_accesses();

 private:
  struct Touch {
    Access access;
    std::uint32_t block = 0;
  };
  struct GlobalCell {
    Touch writer, reader;
  };

  std::size_t cell_bytes() const { return static_cast<std::size_t>(shape_.cell_bytes); }
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
  std::vector<bool> is_initialised_;  // one per cell
  std::vector<GlobalCell> cells_;     // only for writable matrices
};

/// The global memory of an emulated device. Its addresses are the same in every run. They are not addresses of the
/// host.
class GlobalMemory {
 public:
  /// Adds a matrix with uninitialised bytes. It lives as long as this object. Throws Error{invalid_argument}.
  Allocation& add(MatrixShape shape);

  /// A read that is not possible is reported and gives bytes 0xff.
  void read(const Thread& thread, Instruction instruction, std::uint64_t address, void* to, int alignment, int bytes);
  void write(const Thread& thread, Instruction instruction, std::uint64_t address, const void* from, int bytes);
  /// Writes of a copy engine: `begin_write` for the issuing thread, then `land` with the bytes if begin_write returned
  /// true.
  bool begin_write(const Thread& thread, const Access& access, std::uint64_t address, int bytes);
  void land(std::uint64_t address, const void* from, int bytes);
  void prefetch(const Thread& thread, Instruction instruction, std::uint64_t address, std::uint32_t bytes);
  void forget_accesses();

 private:
  // Each allocation owns 2^40 bytes of addresses and lies in their middle. So an address below or above the allocation
  // still identifies it.
  static constexpr int kWindowBits = 40;
  static constexpr std::uint64_t kMiddle = std::uint64_t{1} << (kWindowBits - 1);

  Allocation* find(const Thread& thread, Instruction instruction, std::uint64_t address, int bytes);

  std::deque<Allocation> allocations_;
};

}  // namespace hotgemm::emulate
