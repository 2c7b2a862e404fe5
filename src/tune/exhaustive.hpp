#pragma once

#include "plan/trace_ranking.hpp"
#include "records/resumable_trace.hpp"
#include "tune/candidate.hpp"
#include "tune/measurer.hpp"

#include <hotgemm/types.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

struct ExhaustiveOptions {
  int rounds = 7;          ///< of the best twentieth
  std::size_t batch = 64;  ///< configs per race
  double round_us = 1000;  ///< GPU time per config and round
  int jobs = 0;            ///< compile threads; 0: what the machine and NVRTC are good for
  std::uint64_t seed = 1;  ///< of the data and of the order of measurements
  std::int64_t scratch_bytes = std::int64_t{512} << 20;
};

/// Told how it goes. Functions may be empty. While kernels compile, they are called on any of the compile threads, one
/// at a time; else on the calling thread, with no lock held. What one throws ends the run, which throws it (while
/// kernels compile, as CallbackGuard says).
struct ExhaustiveObserver {
  std::function<void(std::string_view what, std::size_t done, std::size_t total)> progress;  ///< "compile", "measure"
  std::function<bool()> is_cancelled;                                                        ///< asked between steps
};

struct ExhaustiveResult {
  std::vector<CandidateName>
      menu;  ///< every legal config with its default raster, from the fastest predicted to the slowest
  TraceRanking ranking;
  bool is_complete = false;  ///< false: cancelled
};

/// 64 hex digits that name the trace of measuring every config for `problem`: they depend on all that `header` says but
/// the version.
std::string exhaustive_digest(const Problem& problem, const TraceHeader& header);

/// Measures every config that is legal for `problem` and appends to `trace`: each once, the best twentieth, but at
/// least eight, for all rounds, and the best three with every raster. One config takes part in all races, so that pairs
/// with it compare all. What `trace` says already is not measured again.
///
/// Nothing is recorded but the rejections of candidates that are wrong or dangerous. Throws Error{no_compiler} where
/// something is to be compiled and NVRTC is absent; wrong_result if no candidate survives; and what the measurer throws
/// of anything that is no candidate's fault.
ExhaustiveResult measure_every_config(Engine& engine, Measurer& measurer, const Problem& problem, ResumableTrace& trace,
                                      const ExhaustiveOptions& options, const ExhaustiveObserver& observer = {});

}  // namespace hotgemm
