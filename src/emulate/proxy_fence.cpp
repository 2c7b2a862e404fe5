#include "emulate/proxy_fence.hpp"

#include "emulate/block.hpp"

namespace hotgemm::emulate {

void fence_proxy_async() {
  Thread& thread = this_thread();
  count(thread, Instruction::fence_proxy_async);
  const Arrival arrival = thread.arrive();
  thread.view.fenced = join({&arrival, 1}).seen;
  fence_made_mbarriers(thread);
}

void fence_mbarrier_init() {
  Thread& thread = this_thread();
  count(thread, Instruction::fence_mbarrier_init);
  fence_made_mbarriers(thread);
  release_made_mbarriers(thread);
}

}  // namespace hotgemm::emulate
