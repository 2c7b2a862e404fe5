#include "emulate/global_memory.hpp"

#include "emulate/block.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace hotgemm::emulate {

Allocation::Allocation(MatrixShape shape, std::uint64_t address)
    : shape_(std::move(shape)),
      address_(address),
      bytes_(static_cast<std::size_t>(shape_.rows * shape_.pitch_bytes), 0xff),
      is_initialised_((bytes_.size() + cell_bytes() - 1) / cell_bytes()),
      cells_(shape_.is_writable ? is_initialised_.size() : 0) {}

void Allocation::store(std::int64_t row, std::int64_t first_byte, const void* from, std::size_t bytes) {
  const std::size_t at = offset(row, first_byte);
  std::memcpy(bytes_.data() + at, from, bytes);
  for (std::size_t cell = at / cell_bytes(); cell < (at + bytes) / cell_bytes(); ++cell) is_initialised_[cell] = true;
}

void Allocation::load(std::int64_t row, std::int64_t first_byte, void* to, std::size_t bytes) const {
  std::memcpy(to, bytes_.data() + offset(row, first_byte), bytes);
}

bool Allocation::is_valid(const Thread& thread, Instruction instruction, std::uint64_t address, int alignment,
                          int bytes) const {
  const std::uint64_t at = address - address_;
  const auto pitch = static_cast<std::uint64_t>(shape_.pitch_bytes);
  const bool is_aligned = address % static_cast<unsigned>(alignment) == 0;
  if (is_aligned && at < bytes_.size() &&
      at % pitch + static_cast<unsigned>(bytes) <= static_cast<std::uint64_t>(shape_.row_bytes)) {
    return true;
  }
  report_place(thread, is_aligned ? Hazard::out_of_bounds : Hazard::misaligned, instruction, address, bytes);
  return false;
}

bool Allocation::conflicts(const Thread& thread, Instruction instruction, const Touch& touch) const {
  if (touch.access.epoch == 0) return false;
  if (is_atomic(instruction) && is_atomic(touch.access.instruction)) return false;
  if (thread.block->is_in_same_cluster(touch.block)) return !thread.has_seen(touch.access);
  return !thread.has_seen_of(touch.block / thread.block->grid().blocks_per_cluster, touch.access);
}

bool Allocation::read(const Thread& thread, Instruction instruction, std::uint64_t address, void* to, int alignment,
                      int bytes) {
  if (!is_valid(thread, instruction, address, alignment, bytes)) return false;
  const std::size_t at = address - address_;
  std::memcpy(to, bytes_.data() + at, static_cast<std::size_t>(bytes));
  bool has_value = true;
  const Touch* conflict = nullptr;
  const Touch touch{thread.access(instruction), thread.block->index()};
  for (std::size_t cell = at / cell_bytes(); cell < (at + static_cast<unsigned>(bytes)) / cell_bytes(); ++cell) {
    has_value = has_value && is_initialised_[cell];
    if (cells_.empty()) continue;
    GlobalCell& c = cells_[cell];
    if (conflicts(thread, instruction, c.writer)) conflict = &c.writer;
    if (!conflicts(thread, instruction, c.reader)) c.reader = touch;
  }
  if (!has_value) {
    report(thread, {.hazard = Hazard::uninitialised,
                    .instruction = instruction,
                    .place = shape_.name,
                    .address = address,
                    .bytes = bytes,
                    .detail = element_name(address) + " has no value"});
  }
  if (conflict != nullptr) report_conflict(thread, instruction, address, bytes, *conflict, "wrote");
  return true;
}

bool Allocation::write(const Thread& thread, const Access& access, std::uint64_t address, const void* from, int bytes) {
  const Instruction instruction = access.instruction;
  if (!is_valid(thread, instruction, address, bytes, bytes)) return false;
  if (!shape_.is_writable) {
    report(thread, {.hazard = Hazard::out_of_bounds,
                    .instruction = instruction,
                    .place = shape_.name,
                    .address = address,
                    .bytes = bytes,
                    .detail = "kernels may only read it"});
    return false;
  }
  if (from != nullptr) land(address, from, bytes);
  const std::size_t at = address - address_;
  Touch writer, reader;  // earlier accesses that conflict with this write
  for (std::size_t cell = at / cell_bytes(); cell < (at + static_cast<unsigned>(bytes)) / cell_bytes(); ++cell) {
    GlobalCell& c = cells_[cell];
    const bool is_of_same = c.writer.access.thread == access.thread && c.writer.block == thread.block->index();
    if (!is_of_same && conflicts(thread, instruction, c.writer)) writer = c.writer;
    if (conflicts(thread, instruction, c.reader)) reader = c.reader;
    c = {.writer = {access, thread.block->index()}, .reader = {}};
    is_initialised_[cell] = true;
  }
  if (writer.access.epoch != 0) {
    report_conflict(thread, instruction, address, bytes, writer, "wrote");
  } else if (reader.access.epoch != 0) {
    report_conflict(thread, instruction, address, bytes, reader, "read");
  }
  return true;
}

void Allocation::land(std::uint64_t address, const void* from, int bytes) {
  std::memcpy(bytes_.data() + (address - address_), from, static_cast<std::size_t>(bytes));
}

void Allocation::prefetch(const Thread& thread, Instruction instruction, std::uint64_t address,
                          std::uint32_t bytes) const {
  // A bulk prefetch takes whole chunks, the other one any address.
  const unsigned alignment = instruction == Instruction::bulk_prefetch_l2 ? 16 : 1;
  const std::uint64_t first = address - address_, end = first + bytes;
  const auto pitch = static_cast<std::uint64_t>(shape_.pitch_bytes), row = static_cast<std::uint64_t>(shape_.row_bytes);
  const bool is_aligned = address % alignment == 0 && bytes % alignment == 0;
  const bool has_gap = pitch != row && (first % pitch) + bytes > row;
  const bool is_inside = address >= address_ && end <= bytes_.size() && !has_gap;
  if (is_aligned && is_inside) return;
  report_place(thread, is_aligned ? Hazard::out_of_bounds : Hazard::misaligned, instruction, address,
               static_cast<int>(bytes));
}

void Allocation::forget_accesses() { std::ranges::fill(cells_, GlobalCell{}); }

std::string Allocation::element_name(std::uint64_t address) const {
  const auto at = static_cast<std::int64_t>(address - address_);
  if (at < 0) return fmt::format("{} bytes before {}", -at, shape_.name);
  if (at >= static_cast<std::int64_t>(bytes_.size())) {
    return fmt::format("{} bytes behind {}", at - static_cast<std::int64_t>(bytes_.size()), shape_.name);
  }
  return fmt::format("row {} of {} at byte {} of {}", at / shape_.pitch_bytes, shape_.name, at % shape_.pitch_bytes,
                     shape_.row_bytes);
}

void Allocation::report_place(const Thread& thread, Hazard hazard, Instruction instruction, std::uint64_t address,
                              int bytes) const {
  report(thread, {.hazard = hazard,
                  .instruction = instruction,
                  .place = shape_.name,
                  .address = address,
                  .bytes = bytes,
                  .detail = element_name(address)});
}

void Allocation::report_conflict(const Thread& thread, Instruction instruction, std::uint64_t address, int bytes,
                                 const Touch& touch, const char* did) const {
  report(thread, {.hazard = Hazard::conflict,
                  .instruction = instruction,
                  .place = shape_.name,
                  .address = address,
                  .bytes = bytes,
                  .other = touch.access.instruction,
                  .detail = fmt::format("{}: {} of block {} {} it, and nothing orders the two", element_name(address),
                                        to_string(touch.access.instruction), touch.block, did)});
}

Allocation& GlobalMemory::add(MatrixShape shape) {
  if (shape.rows < 0 || shape.row_bytes < 0 || shape.pitch_bytes < std::max<std::int64_t>(shape.row_bytes, 1) ||
      shape.offset_bytes % shape.cell_bytes != 0 || shape.pitch_bytes % shape.cell_bytes != 0 ||
      shape.rows > static_cast<std::int64_t>(kMiddle) / 2 / shape.pitch_bytes) {
    throw Error(ErrorCode::invalid_argument,
                fmt::format("matrix {} of {} rows of {} bytes, {} bytes apart: the emulated device has no such memory",
                            shape.name, shape.rows, shape.row_bytes, shape.pitch_bytes));
  }
  const std::uint64_t window = allocations_.size() + 1;
  const std::uint64_t address = (window << kWindowBits) + kMiddle + static_cast<std::uint64_t>(shape.offset_bytes);
  return allocations_.emplace_back(std::move(shape), address);
}

Allocation* GlobalMemory::find(const Thread& thread, Instruction instruction, std::uint64_t address, int bytes) {
  const std::uint64_t window = address >> kWindowBits;
  if (window >= 1 && window <= allocations_.size()) return &allocations_[window - 1];
  report(thread, {.hazard = Hazard::out_of_bounds,
                  .instruction = instruction,
                  .place = "global",
                  .address = address,
                  .bytes = bytes,
                  .detail = "no matrix is near"});
  return nullptr;
}

void GlobalMemory::read(const Thread& thread, Instruction instruction, std::uint64_t address, void* to, int alignment,
                        int bytes) {
  if (bytes == 0 && address % static_cast<unsigned>(alignment) == 0) return;  // valid at any aligned address
  Allocation* const allocation = find(thread, instruction, address, bytes);
  if (allocation != nullptr && allocation->read(thread, instruction, address, to, alignment, bytes)) return;
  std::memset(to, 0xff, static_cast<std::size_t>(bytes));
}

void GlobalMemory::write(const Thread& thread, Instruction instruction, std::uint64_t address, const void* from,
                         int bytes) {
  Allocation* const allocation = find(thread, instruction, address, bytes);
  if (allocation != nullptr) allocation->write(thread, instruction, address, from, bytes);
}

bool GlobalMemory::begin_write(const Thread& thread, const Access& access, std::uint64_t address, int bytes) {
  Allocation* const allocation = find(thread, access.instruction, address, bytes);
  return allocation != nullptr && allocation->write(thread, access, address, nullptr, bytes);
}

void GlobalMemory::land(std::uint64_t address, const void* from, int bytes) {
  allocations_[(address >> kWindowBits) - 1].land(address, from, bytes);
}

void GlobalMemory::prefetch(const Thread& thread, Instruction instruction, std::uint64_t address, std::uint32_t bytes) {
  const Allocation* const allocation = find(thread, instruction, address, static_cast<int>(bytes));
  if (allocation != nullptr) allocation->prefetch(thread, instruction, address, bytes);
}

void GlobalMemory::forget_accesses() {
  for (Allocation& allocation : allocations_) allocation.forget_accesses();
}

}  // namespace hotgemm::emulate
