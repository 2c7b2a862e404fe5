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
    if (!c->is_in_flight || c->writer.thread != thread.id) continue;  // overwritten meanwhile, and reported
    c->is_in_flight = false;
    c->note_write(thread.access(copy.instruction));
  }
}

void SharedMemory::report_address(const Thread& thread, Instruction instruction, std::uint32_t address,
                                  int bytes) const {
  Finding finding{.hazard = Hazard::misaligned,
                  .instruction = instruction,
                  .place = "shared",
                  .address = address,
                  .bytes = bytes,
                  .detail = "the address must be a multiple of the access"};
  if (address % static_cast<unsigned>(bytes) == 0) {
    finding.hazard = Hazard::out_of_bounds;
    finding.detail = fmt::format("the block has {} bytes from {:#x}", bytes_.size(), kBase);
  }
  report(thread, finding);
}

void SharedMemory::report_bad_read(const Thread& thread, Instruction instruction, std::uint32_t address, int bytes,
                                   const Cell& cell) const {
  Finding finding{
      .instruction = instruction, .place = "shared", .address = address, .bytes = bytes, .detail = "nobody wrote it"};
  if (!cell.is_written) {
    finding.hazard = Hazard::uninitialised;
  } else {
    finding.other = cell.writer.instruction;
    finding.hazard = cell.is_in_flight ? Hazard::in_flight : Hazard::conflict;
    finding.detail =
        fmt::format("{} of {} {}", to_string(cell.writer.instruction), thread_name(thread, cell.writer.thread),
                    cell.is_in_flight ? "has not been waited for" : "wrote it, and nothing orders the read after that");
  }
  report(thread, finding);
}

void SharedMemory::report_write(const Thread& thread, Instruction instruction, std::uint32_t address, int bytes,
                                const Cell& cell, bool has_seen_writer, Access reader) const {
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
  } else if (!has_seen_writer) {
    finding.other = cell.writer.instruction;
    finding.detail = fmt::format("{} of {} wrote it, and nothing orders the two", to_string(cell.writer.instruction),
                                 thread_name(thread, cell.writer.thread));
  } else {
    finding.detail = fmt::format("{} of {} reads it, and nothing orders the write after that",
                                 to_string(reader.instruction), thread_name(thread, reader.thread));
  }
  report(thread, finding);
}

}  // namespace hotgemm::emulate
