#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hotgemm {

/// Settings of a sample, from HOTGEMM_TEST_FULL, HOTGEMM_TEST_SEED and HOTGEMM_TEST_CHANGED; tools/check sets them.
struct SampleOptions {
  bool full = false;  ///< no sample: everything
  std::uint64_t seed = 1;
  std::string changed;  ///< templates that changed last, by their paths: "wgmma.cuh shared/fragment.hpp"

  static SampleOptions from_environment();
};

struct SampledKernel {
  std::string symbol;  ///< "hotgemm_<family>_…"
  std::string arch;
};

/// The ascending indices of the kernels that a test compiles: a third of all, but at least twelve. The sample contains
/// a kernel for each architecture, each kernel of tests/golden, and each kernel of a family whose template changed
/// last. Throws std::logic_error if there is no kernel.
std::vector<std::size_t> sample_kernels(const std::vector<SampledKernel>& kernels, const SampleOptions& options);

}  // namespace hotgemm
