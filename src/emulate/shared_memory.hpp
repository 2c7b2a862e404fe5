#pragma once

#include "emulate/thread.hpp"

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <vector>

namespace hotgemm::emulate {

/// What an access through the async proxy, by copy engine or wgmma, is ordered after.
struct AsyncSight {
  const Clock& seen;
  const Clock& fenced;
  std::uint16_t thread;  ///< who issues it
  std::uint16_t agent;   ///< as whom it is done

  bool operator()(const Access& access) const {
    if (is_generic_store(access.instruction)) return epoch_of(fenced, access.thread) >= access.epoch;
    return is_ordered(access);
  }
  /// All that is missing is a fence.
  bool lacks_fence(const Access& access) const { return is_ordered(access) && !(*this)(access); }

 private:
  bool is_ordered(const Access& access) const {
    return access.thread == thread || access.thread == agent || epoch_of(seen, access.thread) >= access.epoch;
  }
};

/// A block's dynamic shared memory, each cell of it watched.
class SharedMemory {
 public:
  /// Where it begins in the shared window. Not zero, and aligned as on the device: an address without its base is
  /// found to be out of bounds.
  static constexpr std::uint32_t kBase = 1024;

  explicit SharedMemory(int bytes)
      : bytes_(static_cast<std::size_t>(bytes), 0xff), cells_((bytes_.size() + kCellBytes - 1) / kCellBytes) {}

  /// An access of `thread` that its clock must order after what it depends on. Reads give what is there even if that
  /// is reported; an access that is misaligned or out of bounds reads all bits set, or writes nothing.
  void read(const Thread& thread, Instruction instruction, std::uint32_t address, void* to, int bytes) {
    read(thread, instruction, address, to, bytes, [&](const Access& access) { return thread.has_seen(access); });
  }
  void write(const Thread& thread, Instruction instruction, std::uint32_t address, const void* from, int bytes) {
    write(thread, instruction, address, from, bytes, [&](const Access& access) { return thread.has_seen(access); });
  }

  /// The same with another idea of what has been seen: instructions of a whole warp access memory for all its lanes.
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

  /// The destination of a copy that `thread` issues: checked as a write, then poisoned and in flight. False if it is
  /// no place to write to.
  bool begin_copy(const Thread& thread, const AsyncCopy& copy);
  /// The bytes arrive. Nobody may know: the cells stay in flight.
  void land_copy(const AsyncCopy& copy, const void* from) {
    std::memcpy(at(copy.shared), from, static_cast<std::size_t>(copy.bytes));
  }
  /// `thread` has waited: from here on the copy is a write of its own.
  void end_copy(const Thread& thread, const AsyncCopy& copy);

  // ---- the async proxy, 16 bytes at a time ----

  static constexpr int kChunk = 16;

  /// `thread` issues a bulk copy to here: checked as a write, then poisoned and in flight. False if it is no place.
  bool begin_bulk_write(const Thread& thread, Instruction instruction, std::uint32_t address, const AsyncSight& sight);
  /// The bytes arrive, as a write of `access`.
  void end_bulk_write(std::uint32_t address, const void* from, const Access& access);
  /// What a read of bytes that nobody wrote is: a finding, or NaN, as is then all that it enters.
  enum class Unwritten { is_found, is_nan };
  /// `thread` issues something that will read from here as `access`, at any moment until that is waited for.
  void begin_async_read(const Thread& thread, std::uint32_t address, const AsyncSight& sight, const Access& access,
                        Unwritten unwritten = Unwritten::is_found);
  /// It reads. Who wrote it has been looked at; what cannot be read is all bits set.
  void fetch(std::uint32_t address, void* to) const;

  /// Who wrote the cell at `address` last.
  Access writer_of(std::uint32_t address) { return cell(address)->writer; }
  bool contains(std::uint32_t address, int bytes) const {
    const std::uint64_t offset = std::uint64_t{address} - kBase;  // far beyond the end for addresses below the base
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
    Cell bad;  // one of the cells that it conflicts with
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

  /// What is between an access and the write that it finds.
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
