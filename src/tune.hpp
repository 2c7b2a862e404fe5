#pragma once

#include "device_state.hpp"

#include <hotgemm/context.hpp>

#include <optional>
#include <string>
#include <vector>

namespace hotgemm {

/// How far a candidate came.
enum class Stage { chosen, build, load, check, measure };
std::string_view to_string(Stage stage);

/// A candidate's row in the search.
struct Candidate {
  KernelConfig config;
  LaunchConfig launch;
  double predicted_us = 0;
  Stage stage = Stage::chosen;
  std::string reason;  ///< why it went no further; empty for a survivor
  bool from_cache = false;
  std::optional<Cubin> cubin;
  std::shared_ptr<const GemmKernel> kernel;
  Timing timing;
};

struct TuneOutcome {
  std::vector<Candidate> candidates;  ///< the pick first, then survivors by time, then the rejected
  std::optional<TuningRecord> record;
  int measured = 0;
};

/// The cold line, for one problem: candidates, rank, build, load, check, measure, pick, record.
///
/// Uses scratch memory and a stream of its own. Throws Error{out_of_memory} if the operands do not fit; wrong_result,
/// driver_error or compile_failed, by the stage they came to, if no candidate survives; context_lost; and what the
/// driver says about anything that is no candidate's fault.
TuneOutcome tune_problem(DeviceState& device, const Problem& problem, const TuneOptions& options);

/// What tune_problem and prewarm's --candidates compile: the best by the model, the anchors, and a CUDA-core kernel.
std::vector<Candidate> pick_candidates(const Problem& problem, const DeviceInfo& device, int count);

}  // namespace hotgemm
