#pragma once

namespace hotgemm::emulate {

/// fence.proxy.async: makes everything that the running thread has seen and done visible to the copy engine and wgmma.
void fence_proxy_async();
/// fence.mbarrier_init: does this only for the barriers that the thread has initialised.
void fence_mbarrier_init();

}  // namespace hotgemm::emulate
