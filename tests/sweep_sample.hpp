#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace hotgemm {

/// True if sweeps take a sample: with HOTGEMM_TEST_SEED, unless HOTGEMM_TEST_FULL=1. tools/check sets both.
inline bool sweeps_are_sampled() {
  const char* const full = std::getenv("HOTGEMM_TEST_FULL");
  return std::getenv("HOTGEMM_TEST_SEED") != nullptr && (full == nullptr || std::string_view(full) != "1");
}

/// True if this run has the `index`-th case of a sweep: the seed draws one of each `share` successive cases.
inline bool is_drawn(std::size_t index, std::size_t share) {
  if (!sweeps_are_sampled()) return true;
  // The steps of splitmix64: equal remainders of loops within loops must not be drawn together.
  std::uint64_t mixed =
      std::strtoull(std::getenv("HOTGEMM_TEST_SEED"), nullptr, 10) + index / share * 0x9E3779B97F4A7C15u;
  mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9u;
  mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBu;
  return index % share == (mixed ^ mixed >> 31) % share;
}

/// Sanitizers' builds have a smaller part of sweeps whose cases run by the same lines.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr std::size_t kFewer = 2;
#else
inline constexpr std::size_t kFewer = 1;
#endif

/// The number of random trials of a run whose sample is one of `share`.
inline int trials(int all, int share) { return sweeps_are_sampled() ? all / share : all; }

}  // namespace hotgemm
