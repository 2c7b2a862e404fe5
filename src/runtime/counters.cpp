#include "runtime/counters.hpp"

#include <cstdio>

namespace hotgemm {

std::string to_ms(std::chrono::nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f ms", static_cast<double>(time.count()) * 1e-6);
  return text;
}

}  // namespace hotgemm
