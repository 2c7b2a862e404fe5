#include "emulate/barrier.hpp"

#include "emulate/block.hpp"

#include <fmt/format.h>

namespace hotgemm::emulate {

bool Barrier::arrive(Thread& thread, Instruction instruction, int id, int threads) {
  if (arrivals_.empty()) expected_ = threads;
  if (threads != expected_) {
    report(thread, {.hazard = Hazard::bad_operand,
                    .instruction = instruction,
                    .detail = fmt::format("barrier {} for {} threads; other threads wait at it for {}", id, threads,
                                          expected_)});
  }
  arrivals_.push_back(thread.arrive());
  const bool waits = instruction != Instruction::bar_arrive;
  if (waits) waiting_.push_back(&thread);
  if (arrived() < expected_) return waits;
  const View view = join(arrivals_);
  for (Thread* const other : waiting_) {
    other->view = view;
    if (other != &thread) thread.block->cluster().wake(*other);
  }
  arrivals_.clear();
  waiting_.clear();
  return false;
}

}  // namespace hotgemm::emulate
