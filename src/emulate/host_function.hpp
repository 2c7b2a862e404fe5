#pragma once

#include <hotgemm/gemm_types.hpp>

#include <cmath>
#include <cstdint>
#include <cstdlib>

// The functions of epilogues that tests use, on the host. Header-only, because tests without the emulated device use it
// too. A test compares the numbers with the sources: examples/softcap.txt, src/emulate/functions/*.txt.

namespace hotgemm::emulate {

inline constexpr EpilogueFunction kSoftcap = EpilogueFunction::of(0x4c6b5b4fc29f0013);
inline constexpr EpilogueFunction kPlace = EpilogueFunction::of(0x3a5b96d3a4490000);
inline constexpr EpilogueFunction kIndices = EpilogueFunction::of(0x0c5b4c69ef974321);

/// The values that a function reads at an element of D.
struct FunctionPoint {
  std::int64_t row = 0, column = 0, batch = 0;
  double operands[EpilogueFunction::kMostOperands] = {};
};

/// The slope of a function is at most `slope`, if its operands are at most 2. Its own rounding errors are those of
/// numbers up to `magnitude`.
struct HostFunction {
  double (*at)(double value, const FunctionPoint& point) = nullptr;
  double slope = 0;
  double magnitude = 0;
  bool is_exact = false;  ///< on small integers
};

inline HostFunction host_function(const EpilogueFunction& function) {
  if (function == kSoftcap) {
    return {
        .at = [](double value,
                 const FunctionPoint& p) { return p.operands[1] * std::tanh(p.operands[0] * value / p.operands[1]); },
        .slope = 2,
        .magnitude = 2,
        .is_exact = false};
  }
  if (function == kIndices) {
    return {.at =
                [](double value, const FunctionPoint& p) {
                  const auto third = static_cast<double>(p.row % 3), fifth = static_cast<double>(p.column % 5);
                  return value * p.operands[0] + p.operands[1] - p.operands[2] * third + p.operands[3] * fifth +
                         static_cast<double>(p.batch);
                },
            .slope = 2,
            .magnitude = 16,
            .is_exact = true};
  }
  if (function == kPlace) {
    return {.at =
                [](double value, const FunctionPoint& p) {
                  return value + 2 * static_cast<double>(p.row) + static_cast<double>(p.column);
                },
            .slope = 1,
            .magnitude = 1024,
            .is_exact = true};
  }
  std::abort();  // a test with a function that is not listed here
}

}  // namespace hotgemm::emulate
