#pragma once

#include <cstddef>

namespace hotgemm::standin {

/// The number of calls of operator new by this thread.
std::size_t allocation_count();

}  // namespace hotgemm::standin
