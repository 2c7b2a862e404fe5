#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace hotgemm {

/// The part of all kernels that a sample has. It is bounded after a change of a template too: all kernels of family
/// wgmma take a quarter of an hour, and later commits draw other samples.
struct SampleShare {
  double usual = 1.0 / 20;
  double changed = 0.25;  ///< if the template of a family changed
  std::size_t kinds = 3;  ///< one of so many kinds is in each sample, whatever the share is
};

/// Settings of a sample, from HOTGEMM_TEST_FULL, HOTGEMM_TEST_SEED and HOTGEMM_TEST_CHANGED; tools/check sets them.
struct SampleOptions {
  bool full = false;  ///< no sample: everything
  std::uint64_t seed = 1;
  std::string changed;  ///< templates that changed last, by their paths: "wgmma.cuh shared/fragment.hpp"
  SampleShare share{};

  static SampleOptions from_environment();
};

struct SampledKernel {
  std::string symbol;  ///< "hotgemm_<family>_…"
  std::string arch;
  std::string kind{};  ///< what distinguishes mechanisms within the family; the config's name if it is an anchor
};

/// The ascending indices of the kernels that a test compiles: the share of all, but at least twelve. The sample
/// contains a kernel of each architecture and of a third of each family's kinds, and each kernel of tests/golden, even
/// where these are more than the share. Kernels of a family whose template changed last come before the rest. Throws
/// std::logic_error if there is no kernel.
std::vector<std::size_t> sample_kernels(const std::vector<SampledKernel>& kernels, const SampleOptions& options);

}  // namespace hotgemm
