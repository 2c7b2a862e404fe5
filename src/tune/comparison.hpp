#pragma once

#include "tune/candidate.hpp"
#include "tune/measurer.hpp"

#include <hotgemm/types.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

namespace hotgemm {

struct ComparisonOptions {
  int configs = 30;
  int rounds = 7;
  double round_us = 4000;  ///< GPU time per config and round
  int passes = 2;          ///< blocks of each config
  BlockLengths blocks;
  int jobs = 0;  ///< compile threads; 0: chosen for the machine and NVRTC
  std::uint64_t seed = 1;
  std::int64_t scratch_bytes = std::int64_t{512} << 20;
  std::function<bool()> is_cancelled;  ///< may be empty
};

/// A config, timed by both measures: in rounds beside all others, and alone in blocks.
struct ComparedConfig {
  std::string config;
  std::string launch;
  double rounds_us = std::numeric_limits<double>::quiet_NaN();
  double sustained_us = std::numeric_limits<double>::quiet_NaN();
  BlockReport blocks;
};

struct Comparison {
  std::vector<ComparedConfig> configs;  ///< those that both measures timed, fastest in rounds first
  double rank_correlation = std::numeric_limits<double>::quiet_NaN();  ///< Spearman's, of the two times
};

/// Times the first configs of the tuner's shortlist for `problem` by both measures. Configs that fail to build or are
/// wrong are left out, and so are those that take more than twice the time of the fastest. Throws the errors of
/// `measurer`, and Error{wrong_result} if no config is sound.
Comparison compare_measures(Engine& engine, Measurer& measurer, const Workload& problem,
                            const ComparisonOptions& options);

}  // namespace hotgemm
