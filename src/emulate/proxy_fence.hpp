#pragma once

namespace hotgemm::emulate {

/// fence.proxy.async: what the thread that runs has seen, and done, is seen by copy engine and wgmma.
void fence_proxy_async();
/// fence.mbarrier_init: of that, the barriers that it has made.
void fence_mbarrier_init();

}  // namespace hotgemm::emulate
