#pragma once

#include <cstdint>

namespace hotgemm::emulate {

/// A product's.
struct Size {
  std::int64_t m, n, k;
};

}  // namespace hotgemm::emulate
