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
  int rounds = 7;          ///< for the best twentieth
  std::size_t batch = 64;  ///< configs per race
  double round_us = 1000;  ///< GPU time per config and round
  int jobs = 0;            ///< compile threads; 0: chosen for the machine and NVRTC
  std::uint64_t seed = 1;  ///< for the data and the order of measurements
  std::int64_t scratch_bytes = std::int64_t{512} << 20;
};

/// Receives progress. Functions may be empty. While kernels compile, they are called on any of the compile threads, one
/// at a time; otherwise on the calling thread, with no lock held. An exception ends the run, which throws it (while
/// kernels compile, as CallbackGuard says).
struct ExhaustiveObserver {
  std::function<void(std::string_view what, std::size_t done, std::size_t total)> progress;  ///< "compile", "measure"
  std::function<bool()> is_cancelled;                                                        ///< called between steps
};

struct ExhaustiveResult {
  std::vector<CandidateName>
      menu;  ///< every legal config with its default raster, from the fastest predicted to the slowest
  TraceRanking ranking;
  bool is_complete = false;  ///< false if the run was cancelled
};

/// 64 hex digits that name the trace of all configs for `problem`. They depend on every field of `header` except the
/// version.
std::string exhaustive_digest(const Workload& problem, const TraceHeader& header);

/// Measures every config that is legal for `problem` and appends the samples to `trace`. Every config gets one round.
/// The best twentieth, but at least eight, get all rounds. The best three get all rounds with every raster. One config,
/// the reference, takes part in all races, so that pairs with it compare all others. Samples that `trace` already has
/// are not measured again.
///
/// Records only the rejections of candidates that are wrong or dangerous. Throws Error{no_compiler} if something must
/// be compiled and NVRTC is missing, wrong_result if no candidate survives, and the measurer's errors that are not the
/// fault of a candidate.
ExhaustiveResult measure_every_config(Engine& engine, Measurer& measurer, const Workload& problem,
                                      ResumableTrace& trace, const ExhaustiveOptions& options,
                                      const ExhaustiveObserver& observer = {});

}  // namespace hotgemm
