#include "emulate/mbarrier.hpp"

#include "emulate/block.hpp"

#include <fmt/format.h>

namespace hotgemm::emulate {
namespace {

constexpr std::uint32_t kMostArrivals = (1u << 20) - 1;
constexpr int kBytes = 8;

void report_operand(const Thread& thread, Instruction instruction, std::string detail) {
  report(thread, {.hazard = Hazard::bad_operand, .instruction = instruction, .detail = std::move(detail)});
}

}  // namespace

Mbarrier::Mbarrier(Thread& maker, std::uint32_t address, std::uint32_t arrivals)
    : block_(*maker.block),
      address_(address),
      agent_(block_.cluster().add_agent(fmt::format("mbarrier {:#x} of block {}", address, block_.index()))),
      init_agent_(block_.cluster().add_agent(fmt::format("fence of mbarrier {:#x}", address))),
      made_(maker.access(Instruction::mbarrier_init)),
      expected_(arrivals),
      pending_(arrivals),
      released_(block_.cluster().nothing_seen()) {}

void Mbarrier::arrive(Thread& thread, Instruction instruction, std::uint32_t expected_bytes) {
  if (pending_ == 0) {
    report_operand(
        thread, instruction,
        fmt::format("all {} arrivals of phase {} of mbarrier {:#x} have already come", expected_, phase_, address_));
    return;
  }
  bytes_ += expected_bytes;
  --pending_;
  arrivals_.push_back(thread.arrive());
  end_phase_if_complete();
}

void Mbarrier::complete_bytes(int bytes) {
  bytes_ -= bytes;
  end_phase_if_complete();
}

void Mbarrier::end_phase_if_complete() {
  if (pending_ != 0 || bytes_ != 0) return;
  released_ = join(released_, join(arrivals_));
  arrivals_.clear();
  pending_ = expected_;
  released_.seen = advanced(*released_.seen, agent_, ++phase_);
  for (Thread* const thread : waiting_) block_.cluster().wake(*thread);
  waiting_.clear();
}

std::string Mbarrier::state() const {
  return fmt::format("phase {} lacks {} of {} arrivals and {} bytes", phase_, pending_, expected_, bytes_);
}

void mbarrier_init(std::uint32_t address, std::uint32_t arrivals) {
  Thread& thread = this_thread();
  count(thread, Instruction::mbarrier_init);
  if (arrivals < 1 || arrivals > kMostArrivals) {
    report_operand(thread, Instruction::mbarrier_init, fmt::format("a barrier for {} arrivals", arrivals));
    return;
  }
  const std::uint64_t nothing = 0;
  Block& block = *thread.block;
  block.shared().write(thread, Instruction::mbarrier_init, address, &nothing, kBytes);
  if (!block.shared().contains(address, kBytes)) return;
  if (!block.mbarriers().try_emplace(address, thread, address, arrivals).second) {
    report_operand(thread, Instruction::mbarrier_init, fmt::format("there is an mbarrier at {:#x} already", address));
  }
}

void fence_made_mbarriers(Thread& thread) {
  for (auto& [_, barrier] : thread.block->mbarriers()) {
    if (thread.has_seen(barrier.made())) barrier.fence();
  }
}

void release_made_mbarriers(Thread& thread) {
  for (auto& [_, barrier] : thread.block->mbarriers()) {
    const Access fence = barrier.init_fence();
    if (barrier.made().thread == thread.id) {
      thread.known_barriers = advanced(*thread.known_barriers, fence.thread, fence.epoch);
    }
  }
}

Mbarrier* find_mbarrier(Thread& thread, Instruction instruction, Block& block, std::uint32_t address) {
  const auto found = block.mbarriers().find(address);
  if (found == block.mbarriers().end()) {
    report_operand(thread, instruction,
                   fmt::format("there is no mbarrier at {:#x} of block {}", address, block.index()));
    return nullptr;
  }
  Mbarrier& barrier = found->second;
  const Access writer = block.shared().writer_of(address);
  if (!thread.has_seen(barrier.made()) && !thread.has_seen(barrier.init_fence())) {
    report(thread, {.hazard = Hazard::conflict,
                    .instruction = instruction,
                    .place = "shared",
                    .address = address,
                    .bytes = kBytes,
                    .other = Instruction::mbarrier_init,
                    .detail = fmt::format("{} of block {} made the barrier, and nothing orders the two",
                                          thread_name(thread, barrier.made().thread), block.index())});
  } else if (writer.instruction != Instruction::mbarrier_init) {
    report(thread, {.hazard = Hazard::conflict,
                    .instruction = instruction,
                    .place = "shared",
                    .address = address,
                    .bytes = kBytes,
                    .other = writer.instruction,
                    .detail = fmt::format("{} of {} has overwritten the barrier", to_string(writer.instruction),
                                          thread_name(thread, writer.thread))});
  }
  return &barrier;
}

void mbarrier_arrive(Instruction instruction, std::uint32_t address, std::uint32_t expected_bytes) {
  Thread& thread = this_thread();
  count(thread, instruction);
  Block* block = thread.block;
  if (instruction == Instruction::mbarrier_arrive_cluster) {
    block = block->cluster().find_block(thread, instruction, address);
    if (block == nullptr) return;
    address = Cluster::without_rank(address);
  }
  Mbarrier* const barrier = find_mbarrier(thread, instruction, *block, address);
  if (barrier == nullptr) return;
  if (block != thread.block) block->note_visit(thread, thread.access(instruction), address);
  barrier->arrive(thread, instruction, expected_bytes);
}

void mbarrier_await(std::uint32_t address, std::uint32_t parity) {
  constexpr auto kInstruction = Instruction::mbarrier_try_wait_parity;
  Thread& thread = this_thread();
  count(thread, kInstruction);
  if (parity > 1) {
    report_operand(thread, kInstruction, fmt::format("a phase has parity 0 or 1, and not {}", parity));
    return;
  }
  Mbarrier* const barrier = find_mbarrier(thread, kInstruction, *thread.block, address);
  if (barrier == nullptr) return;
  while (!barrier->has_ended(parity)) {  // before a woken thread runs, the next phase may have ended as well
    barrier->add_waiting(thread);
    thread.block->cluster().suspend(thread, kInstruction);
  }
  thread.view = thread.block->cluster().join_views(thread.view, barrier->released());
}

}  // namespace hotgemm::emulate
