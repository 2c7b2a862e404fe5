#pragma once

#include "config/device_info.hpp"
#include "config/kernel_config.hpp"
#include "plan/wgmma_model.hpp"
#include "records/trace.hpp"

#include <functional>
#include <span>
#include <vector>

// Fits the constants of the wgmma model to measured times. Pure and deterministic.

namespace hotgemm {

/// The measured candidates of a problem: each config with its fastest launch config.
struct MeasuredProblem {
  struct Candidate {
    KernelConfig config;
    double us;
  };
  Workload problem;
  DeviceInfo device;  ///< as plans assume it: nominal, with the SMs of the trace
  std::vector<Candidate> candidates;

  double best_us() const;
};

/// The problems of a trace that have two candidates or more. Lines that name what this version does not know are left
/// out.
std::vector<MeasuredProblem> measured_problems(std::span<const TraceLine> lines);

/// The time that is lost if the candidate runs that the model expects to be the fastest: 0.02 means two percent.
double regret(const MeasuredProblem& measured, const WgmmaModel& model);
/// The mean over the problems, 0 if there is none.
double mean_regret(std::span<const MeasuredProblem> problems, const WgmmaModel& model);

/// The quantity that fit_model makes small: the mean over the problems of the logarithm of the time, relative to the
/// best, that a pick by the model is expected to take if its predictions are a few percent wrong. Unlike the regret it
/// changes with every constant.
double fit_loss(std::span<const MeasuredProblem> problems, const WgmmaModel& model);

/// The constants for which fit_loss is small: one constant after another is changed in steps of 2 to 30 %, as long as
/// one of them gains. A change must gain the more, the further it leads away from `start`. `progress` gets the loss
/// after each round; it may be empty.
WgmmaModel fit_model(std::span<const MeasuredProblem> problems, const WgmmaModel& start,
                     const std::function<void(double)>& progress = {});

}  // namespace hotgemm
