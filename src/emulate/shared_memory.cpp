#include "emulate/shared_memory.hpp"

#include <fmt/format.h>

namespace hotgemm::emulate {

bool SharedMemory::begin_copy(const Thread& thread, const AsyncCopy& copy) {
  if (!is_valid(thread, copy.instruction, copy.shared, copy.bytes)) return false;
  check_write(thread, copy.instruction, copy.shared, copy.bytes,
              [&](const Access& access) { return thread.has_seen(access); });
  std::memset(at(copy.shared), 0xff, static_cast<std::size_t>(copy.bytes));
  for (Cell* c = cell(copy.shared); c != cell(copy.shared) + copy.bytes / kCellBytes; ++c) c->is_in_flight = true;
  return true;
}

void SharedMemory::end_copy(const Thread& thread, const AsyncCopy& copy) {
  for (Cell* c = cell(copy.shared); c != cell(copy.shared) + copy.bytes / kCellBytes; ++c) {
    if (!c->is_in_flight || c->writer.thread != thread.id) continue;  // overwritten since; this was reported
    c->is_in_flight = false;
    c->note_write(thread.access(copy.instruction));
  }
}

bool SharedMemory::begin_bulk_write(const Thread& thread, Instruction instruction, std::uint32_t address,
                                    const AsyncSight& sight) {
  if (!is_valid(thread, instruction, address, kChunk)) return false;
  check_write(thread, instruction, address, kChunk, sight);
  std::memset(at(address), 0xff, kChunk);
  for (Cell* c = cell(address); c != cell(address) + kChunk / kCellBytes; ++c) {
    c->note_write({~0u, sight.agent, instruction});
    c->is_in_flight = true;
  }
  return true;
}

void SharedMemory::end_bulk_write(std::uint32_t address, const void* from, const Access& access) {
  std::memcpy(at(address), from, kChunk);
  for (Cell* c = cell(address); c != cell(address) + kChunk / kCellBytes; ++c) {
    if (!c->is_in_flight || c->writer.thread != access.thread) continue;  // overwritten since; this was reported
    c->is_in_flight = false;
    c->writer = access;
  }
}

void SharedMemory::begin_async_read(const Thread& thread, std::uint32_t address, const AsyncSight& sight,
                                    const Access& access, Unwritten unwritten) {
  if (!is_valid(thread, access.instruction, address, kChunk)) return;
  bool is_good = true;
  for (Cell* c = cell(address); c != cell(address) + kChunk / kCellBytes; ++c) {
    const bool is_left_out = unwritten == Unwritten::is_nan && !c->is_written;
    is_good = is_good && (is_left_out || (c->is_written && !c->is_in_flight && sight(c->writer)));
    c->note_read(sight, access);
  }
  if (!is_good) report_read(thread, access.instruction, address, kChunk, sight);
}

void SharedMemory::fetch(std::uint32_t address, void* to) const {
  if (contains(address, kChunk)) {
    std::memcpy(to, bytes_.data() + (address - kBase), kChunk);
  } else {
    std::memset(to, 0xff, kChunk);
  }
}

void SharedMemory::report_address(const Thread& thread, Instruction instruction, std::uint32_t address,
                                  int bytes) const {
  Finding finding{.hazard = Hazard::misaligned,
                  .instruction = instruction,
                  .place = "shared",
                  .address = address,
                  .bytes = bytes,
                  .detail = "the address must be a multiple of the access size"};
  if (address % static_cast<unsigned>(bytes) == 0) {
    finding.hazard = Hazard::out_of_bounds;
    finding.detail = fmt::format("the block has {} bytes from {:#x}", bytes_.size(), kBase);
  }
  report(thread, finding);
}

void SharedMemory::report_bad_read(const Thread& thread, Instruction instruction, std::uint32_t address, int bytes,
                                   const Cell& cell, Order order) const {
  Finding finding{.instruction = instruction,
                  .place = "shared",
                  .address = address,
                  .bytes = bytes,
                  .detail = "it was never written"};
  const char* const missing = order == Order::barrier_but_no_fence ? "wrote it, and no fence.proxy.async lies between"
                                                                   : "wrote it, and nothing orders the read after that";
  if (!cell.is_written) {
    finding.hazard = Hazard::uninitialised;
  } else {
    finding.other = cell.writer.instruction;
    finding.hazard = cell.is_in_flight ? Hazard::in_flight : Hazard::conflict;
    finding.detail =
        fmt::format("{} of {} {}", to_string(cell.writer.instruction), thread_name(thread, cell.writer.thread),
                    cell.is_in_flight ? "has not been waited for" : missing);
  }
  report(thread, finding);
}

void SharedMemory::report_write(const Thread& thread, Instruction instruction, std::uint32_t address, int bytes,
                                const Cell& cell, Order order, Access reader) const {
  Finding finding{.hazard = Hazard::conflict,
                  .instruction = instruction,
                  .place = "shared",
                  .address = address,
                  .bytes = bytes,
                  .other = reader.instruction};
  if (cell.is_in_flight) {
    finding.hazard = Hazard::in_flight;
    finding.other = cell.writer.instruction;
    finding.detail = fmt::format("{} of {} is still writing it", to_string(cell.writer.instruction),
                                 thread_name(thread, cell.writer.thread));
  } else if (order != Order::barrier) {
    finding.other = cell.writer.instruction;
    finding.detail = fmt::format(
        "{} of {} wrote it, and {}", to_string(cell.writer.instruction), thread_name(thread, cell.writer.thread),
        order == Order::nothing ? "nothing orders the two" : "no fence.proxy.async lies between");
  } else {
    finding.detail = fmt::format("{} of {} reads it, and nothing orders the write after that",
                                 to_string(reader.instruction), thread_name(thread, reader.thread));
  }
  report(thread, finding);
}

}  // namespace hotgemm::emulate
