#include "emulate/cluster_barrier.hpp"

#include "emulate/block.hpp"

namespace hotgemm::emulate {

void ClusterBarrier::arrive(Thread& thread, Instruction instruction) {
  count(thread, instruction);
  if (thread.cluster_arrivals != thread.cluster_waits) {
    report(thread, {.hazard = Hazard::bad_operand,
                    .instruction = instruction,
                    .detail = "the thread has arrived before and has not waited since"});
    return;
  }
  ++thread.cluster_arrivals;
  if (instruction == Instruction::barrier_cluster_arrive_relaxed) {
    View barriers = thread.block->cluster().nothing_seen();
    barriers.seen = thread.known_barriers;
    arrivals_.push_back({barriers, thread.id, 0});
  } else {
    arrivals_.push_back(thread.arrive());
  }
  --missing_;
  end_phase_if_complete(thread);
}

void ClusterBarrier::wait(Thread& thread) {
  count(thread, Instruction::barrier_cluster_wait);
  if (thread.cluster_arrivals == thread.cluster_waits) {
    report(thread, {.hazard = Hazard::bad_operand,
                    .instruction = Instruction::barrier_cluster_wait,
                    .detail = "the thread has not arrived"});
    return;
  }
  ++thread.cluster_waits;
  if (phases_ < thread.cluster_arrivals) {
    waiting_.push_back(&thread);
    thread.block->cluster().suspend(thread, Instruction::barrier_cluster_wait);
  }
  thread.view = thread.block->cluster().join_views(thread.view, released_);
}

void ClusterBarrier::leave(Thread& thread) {
  --living_;
  if (thread.cluster_arrivals > phases_) return;  // it has arrived
  --missing_;
  end_phase_if_complete(thread);
}

void ClusterBarrier::end_phase_if_complete(Thread& thread) {
  if (missing_ != 0 || arrivals_.empty()) return;
  released_ = join(arrivals_);
  arrivals_.clear();
  missing_ = living_;
  ++phases_;
  for (Thread* const other : waiting_) thread.block->cluster().wake(*other);
  waiting_.clear();
}

}  // namespace hotgemm::emulate
