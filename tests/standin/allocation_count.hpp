#pragma once

#include <cstddef>

namespace hotgemm::standin {

/// How often this thread has called operator new.
std::size_t allocation_count();

}  // namespace hotgemm::standin
