#include "emulate/tensor_load.hpp"

#include "emulate/block.hpp"
#include "emulate/grid_dependency.hpp"
#include "emulate/number.hpp"

#include "shared/address_place.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace hotgemm::emulate {
namespace {

constexpr std::uint32_t kBoxAlignment = 128;

/// Rounds the elements of a box to TF32.
void round_to_tf32(std::vector<std::uint8_t>& box) {
  for (std::size_t i = 0; i < box.size(); i += sizeof(std::uint32_t)) {
    std::uint32_t bits;
    std::memcpy(&bits, &box[i], sizeof bits);
    bits = rounded_tf32(bits);
    std::memcpy(&box[i], &bits, sizeof bits);
  }
}

/// Reads the box at `at`, row by row. Elements outside of the tensor are zeros.
std::vector<std::uint8_t> read_box(const Thread& thread, Instruction instruction, const TensorMapSpec& spec,
                                   BoxPlace at) {
  const auto element = static_cast<std::int64_t>(size_bytes(spec.element));
  const auto size_x = static_cast<std::int64_t>(spec.sizes[0]), size_y = static_cast<std::int64_t>(spec.sizes[1]);
  const std::int64_t first = std::max<std::int64_t>(at.x, 0);
  const std::int64_t last = std::min<std::int64_t>(std::int64_t{at.x} + spec.box[0], size_x);
  std::vector<std::uint8_t> box(box_bytes(spec));
  const auto is_in = [&](std::size_t dimension, int coordinate) {
    return spec.rank <= dimension ||
           (coordinate >= 0 && static_cast<std::uint64_t>(coordinate) < spec.sizes[dimension]);
  };
  const bool is_inside = is_in(2, at.z) && is_in(3, at.w);
  // A copy with no element inside touches the first one of the tensor, as an H100 does.
  if (spec.base == kFirstPlace && (first >= last || at.y >= size_y))
    thread.block->grid().memory.read(thread, instruction, spec.base, box.data(), static_cast<int>(element), 1);
  for (std::int64_t row = 0; row < spec.box[1] && first < last && is_inside; ++row) {
    const std::int64_t y = at.y + row;
    if (y < 0 || y >= size_y) continue;
    const std::int64_t coordinates[] = {first, y, at.z, at.w};
    thread.block->grid().memory.read(
        thread, instruction, *element_address(spec, coordinates),
        box.data() + row * static_cast<std::int64_t>(row_bytes(spec)) + (first - at.x) * element,
        static_cast<int>(element), static_cast<int>((last - first) * element));
  }
  if (element_type(spec.element).tensor_map == TensorMapType::tfloat32) round_to_tf32(box);
  return box;
}

void load(Instruction instruction, std::uint32_t shared, const TensorMap& map, BoxPlace at, std::uint32_t barrier,
          std::uint32_t blocks) {
  Thread& thread = this_thread();
  count(thread, instruction);
  touch_global(thread, instruction);
  const auto spec = tensor_of(thread, instruction, map, at.rank);
  if (!spec || !is_box_address(thread, instruction, shared)) return;
  for (std::uint32_t rank = 0; rank < thread.block->grid().blocks_per_cluster; ++rank) {
    if ((blocks >> rank & 1u) == 0) continue;
    Block& block = thread.block->cluster().block(rank);
    Mbarrier* const counter = find_mbarrier(thread, instruction, block, barrier);
    if (counter == nullptr) continue;
    if (!counter->is_fenced()) {
      report(thread, {.hazard = Hazard::conflict,
                      .instruction = instruction,
                      .place = "shared",
                      .address = barrier,
                      .bytes = 8,
                      .other = Instruction::mbarrier_init,
                      .detail = "no fence.mbarrier_init makes the barrier known to the copy engine"});
    }
    TensorLoad one(thread, instruction, *spec, at, block, shared, *counter);
    if (one.begin()) thread.block->cluster().add_load(one);
  }
}

}  // namespace

std::optional<TensorMapSpec> tensor_of(const Thread& thread, Instruction instruction, const TensorMap& map, int rank) {
  const auto spec = decode(map);
  if (spec && spec->rank == rank) return spec;
  report(thread, {.hazard = Hazard::bad_operand,
                  .instruction = instruction,
                  .detail = spec ? fmt::format("the tensor has {} dimensions", spec->rank) : "there is no tensor map"});
  return std::nullopt;
}

void prefetch_map(const TensorMap& map) {
  constexpr auto kInstruction = Instruction::prefetch_tensormap;
  const Thread& thread = this_thread();
  count(this_thread(), kInstruction);
  if (!decode(map)) {
    report(thread, {.hazard = Hazard::bad_operand, .instruction = kInstruction, .detail = "there is no tensor map"});
  }
}

bool is_box_address(const Thread& thread, Instruction instruction, std::uint32_t shared) {
  if (shared % kBoxAlignment == 0) return true;
  report(thread, {.hazard = Hazard::misaligned,
                  .instruction = instruction,
                  .place = "shared",
                  .address = shared,
                  .bytes = static_cast<int>(kBoxAlignment),
                  .detail = "a box must begin at a multiple of 128"});
  return false;
}

bool TensorLoad::begin() {
  const AsyncSight sight{*thread_->view.seen, *thread_->view.fenced, thread_->id, barrier_->agent()};
  for (std::uint32_t offset = 0; offset < box_bytes(spec_); offset += kTensorChunk) {
    if (!block_->shared().begin_bulk_write(*thread_, instruction_, swizzled(spec_.swizzle, shared_ + offset), sight)) {
      return false;
    }
  }
  return true;
}

void TensorLoad::land() {
  const std::vector<std::uint8_t> box = read_box(*thread_, instruction_, spec_, at_);
  const Access access = barrier_->landing(instruction_);
  for (std::uint32_t offset = 0; offset < box.size(); offset += kTensorChunk) {
    block_->shared().end_bulk_write(swizzled(spec_.swizzle, shared_ + offset), box.data() + offset, access);
  }
  block_->note_visit(*thread_, access, shared_);
  barrier_->complete_bytes(static_cast<int>(box.size()));
}

void load_tensor(std::uint32_t shared, const TensorMap& map, BoxPlace at, std::uint32_t barrier) {
  Block& block = *this_thread().block;
  load(Instruction::bulk_tensor_load, shared, map, at, barrier, 1u << block.index() % block.grid().blocks_per_cluster);
}

void load_tensor_multicast(std::uint32_t shared, const TensorMap& map, BoxPlace at, std::uint32_t barrier,
                           std::uint32_t blocks) {
  const Thread& thread = this_thread();
  const std::uint32_t of_cluster = thread.block->grid().blocks_per_cluster;
  if (blocks == 0 || blocks >> of_cluster != 0) {
    report(thread, {.hazard = Hazard::bad_operand,
                    .instruction = Instruction::bulk_tensor_multicast,
                    .detail = fmt::format("mask {:#x} in a cluster of {} blocks", blocks, of_cluster)});
  }
  load(Instruction::bulk_tensor_multicast, shared, map, at, barrier, blocks);
}

}  // namespace hotgemm::emulate
