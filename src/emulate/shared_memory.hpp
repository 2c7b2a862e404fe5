#pragma once

#include "emulate/thread.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace hotgemm::emulate {

/// The events that precede an access through the async proxy (copy engine or wgmma).
struct AsyncSight {
  const Clock& seen;
  const Clock& fenced;
  std::uint16_t thread;  ///< the thread that issues the access
  std::uint16_t agent;   ///< the agent that executes it

  bool operator()(const Access& access) const {
    if (is_generic_store(access.instruction)) return epoch_of(fenced, access.thread) >= access.epoch;
    return is_ordered(access);
  }
  /// True if only a fence is missing.
  bool lacks_fence(const Access& access) const { return is_ordered(access) && !(*this)(access); }

 private:
  bool is_ordered(const Access& access) const {
    return access.thread == thread || access.thread == agent || epoch_of(seen, access.thread) >= access.epoch;
  }
};

/// The dynamic shared memory of a block, with the state of each cell.
class SharedMemory {
 public:
  /// The first address in the shared window. It is not zero, so that an address computed without the base is out of
  /// bounds. It is aligned as on the device.
  static constexpr std::uint32_t kBase = 1024;

  explicit SharedMemory(int bytes)
      : bytes_(static_cast<std::size_t>(bytes), 0xff), cells_((bytes_.size() + kCellBytes - 1) / kCellBytes) {}

  /// An access of `thread`. The thread's clock must order it after the accesses that it depends on. A read returns the
  /// bytes even if this is reported. A misaligned or out-of-bounds read returns bytes 0xff; such a write has no effect.
  void read(const Thread& thread, Instruction instruction, std::uint32_t address, void* to, int bytes) {
    read(thread, instruction, address, to, bytes, [&](const Access& access) { return thread.has_seen(access); });
  }
  void write(const Thread& thread, Instruction instruction, std::uint32_t address, const void* from, int bytes) {
    write(thread, instruction, address, from, bytes, [&](const Access& access) { return thread.has_seen(access); });
  }

  /// Accesses with the caller's test for those that have been seen. Instructions of a whole warp access memory
  /// for all its lanes.
  template <class Seen>
  void read(const Thread& thread, Instruction instruction, std::uint32_t address, void* to, int bytes,
            const Seen& has_seen) {
    if (!is_valid(thread, instruction, address, bytes)) {
      std::memset(to, 0xff, static_cast<std::size_t>(bytes));
      return;
    }
    std::memcpy(to, at(address), static_cast<std::size_t>(bytes));
    const Access access = thread.access(instruction);
    bool is_good = true;
    Cell* const first = cell(address);
    for (Cell* c = first; c != first + bytes / kCellBytes; ++c) {
      is_good = is_good && c->is_written && !c->is_in_flight && has_seen(c->writer);
      c->note_read(has_seen, access);
    }
    if (!is_good) report_read(thread, instruction, address, bytes, has_seen);
  }

  template <class Seen>
  void write(const Thread& thread, Instruction instruction, std::uint32_t address, const void* from, int bytes,
             const Seen& has_seen) {
    if (!is_valid(thread, instruction, address, bytes)) return;
    std::memcpy(at(address), from, static_cast<std::size_t>(bytes));
    check_write(thread, instruction, address, bytes, has_seen);
  }

  // ---- asynchronous copies ----

  /// Starts a copy that `thread` issues: checks its destination like a write, poisons it and marks it as in flight.
  /// False if the address is invalid.
  bool begin_copy(const Thread& thread, const AsyncCopy& copy);
  /// Writes the bytes of the copy. The cells stay in flight, because no thread has waited yet.
  void land_copy(const AsyncCopy& copy, const void* from) {
    std::memcpy(at(copy.shared), from, static_cast<std::size_t>(copy.bytes));
  }
  /// Called when `thread` has waited: the copy is now like a write of the thread.
  void end_copy(const Thread& thread, const AsyncCopy& copy);

  // ---- the async proxy, 16 bytes at a time ----

  static constexpr int kChunk = 16;

  /// Starts a bulk copy that `thread` issues: checks the destination like a write, poisons it and marks it as in
  /// flight. False if the address is invalid.
  bool begin_bulk_write(const Thread& thread, Instruction instruction, std::uint32_t address, const AsyncSight& sight);
  /// Writes the bytes, as a write of `access`.
  void end_bulk_write(std::uint32_t address, const void* from, const Access& access);
  /// The effect of reading bytes that were never written: a finding, or NaN in every result that uses them.
  enum class Unwritten { is_found, is_nan };
  /// Starts an asynchronous read by `access` that `thread` issues. It happens at some moment before the wait for it
  /// ends.
  void begin_async_read(const Thread& thread, std::uint32_t address, const AsyncSight& sight, const Access& access,
                        Unwritten unwritten = Unwritten::is_found);
  /// Executes the read. The writers were checked by begin_async_read. Bytes that cannot be read are 0xff.
  void fetch(std::uint32_t address, void* to) const;

  /// The last write to the cell at `address`.
  Access writer_of(std::uint32_t address) { return cell(address)->writer; }
  bool contains(std::uint32_t address, int bytes) const {
    const std::uint64_t offset = std::uint64_t{address} - kBase;  // huge for an address below the base
    return offset < bytes_.size() && offset + static_cast<unsigned>(bytes) <= bytes_.size();
  }

 private:
  bool is_valid(const Thread& thread, Instruction instruction, std::uint32_t address, int bytes) const {
    if (address % static_cast<unsigned>(bytes) == 0 && contains(address, bytes)) return true;
    report_address(thread, instruction, address, bytes);
    return false;
  }
  std::uint8_t* at(std::uint32_t address) { return bytes_.data() + (address - kBase); }
  Cell* cell(std::uint32_t address) { return cells_.data() + (address - kBase) / kCellBytes; }

  template <class Seen>
  void check_write(const Thread& thread, Instruction instruction, std::uint32_t address, int bytes,
                   const Seen& has_seen) {
    const Access access = thread.access(instruction);
    Cell* const first = cell(address);
    Cell bad;  // a cell with a conflict
    bool is_good = true;
    for (Cell* c = first; c != first + bytes / kCellBytes; ++c) {
      if (c->is_in_flight || !has_seen(c->writer) || !has_seen(c->readers[0]) || !has_seen(c->readers[1])) {
        bad = *c;
        is_good = false;
        c->is_in_flight = false;
      }
      c->note_write(access);
    }
    if (is_good) return;
    report_write(thread, instruction, address, bytes, bad, order_of(has_seen, bad.writer),
                 has_seen(bad.readers[0]) ? bad.readers[1] : bad.readers[0]);
  }
  template <class Seen>
  void report_read(const Thread& thread, Instruction instruction, std::uint32_t address, int bytes,
                   const Seen& has_seen) {
    for (const Cell* c = cell(address); c != cell(address) + bytes / kCellBytes; ++c) {
      if (c->is_in_flight || !c->is_written || !has_seen(c->writer)) {
        report_bad_read(thread, instruction, address, bytes, *c, order_of(has_seen, c->writer));
        return;
      }
    }
  }

  /// The kind of ordering between an access and an earlier write.
  enum class Order { barrier, barrier_but_no_fence, nothing };
  template <class Seen>
  static Order order_of(const Seen& has_seen, const Access& access) {
    if (has_seen(access)) return Order::barrier;
    if constexpr (std::is_same_v<Seen, AsyncSight>) {
      if (has_seen.lacks_fence(access)) return Order::barrier_but_no_fence;
    }
    return Order::nothing;
  }

  void report_address(const Thread& thread, Instruction instruction, std::uint32_t address, int bytes) const;
  void report_bad_read(const Thread& thread, Instruction instruction, std::uint32_t address, int bytes,
                       const Cell& cell, Order order) const;
  void report_write(const Thread& thread, Instruction instruction, std::uint32_t address, int bytes, const Cell& cell,
                    Order order, Access reader) const;

  std::vector<std::uint8_t> bytes_;
  std::vector<Cell> cells_;
};

}  // namespace hotgemm::emulate
