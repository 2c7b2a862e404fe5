#pragma once

#include "emulate/block.hpp"
#include "ptx/device.hpp"

namespace hotgemm::ptx {

HOTGEMM_DEVICE int thread_index() { return emulate::this_thread().index; }
HOTGEMM_DEVICE int thread_index_again() { return thread_index(); }
HOTGEMM_DEVICE u32 block_index() { return emulate::this_thread().block->index(); }
HOTGEMM_DEVICE u32 grid_size() { return emulate::this_thread().block->grid().blocks; }

}  // namespace hotgemm::ptx
