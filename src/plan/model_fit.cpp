#include "plan/model_fit.hpp"

#include "plan/model.hpp"
#include "plan/trace_ranking.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>

namespace hotgemm {
namespace {

constexpr double kPredictionSpread = 0.03;  // of predictions that fit_loss takes for equally good
constexpr double kPull = 0.01;              // to the start: the loss that a constant costs at 2.7 times its value
constexpr double kLeastGain = 1e-5;         // of the loss, for which a constant is changed
constexpr int kMostRounds = 40;

std::optional<Workload> known_problem(const std::string& text) {
  try {
    return parse_workload(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

DeviceInfo device_of(const Environment& environment) {
  DeviceInfo device = nominal_device(environment.arch, environment.gpu);
  if (environment.sm_count > 0) device.sm_count = environment.sm_count;
  return device;
}

std::optional<MeasuredProblem> measured_problem(std::span<const TraceLine> lines, const std::string& text,
                                                const DeviceInfo& device) {
  const std::optional<Workload> problem = known_problem(text);
  if (!problem) return std::nullopt;
  const TraceRanking ranking = rank_trace(lines, text);
  MeasuredProblem measured{.problem = *problem, .device = device, .candidates = {}};
  std::set<std::string> seen;  // entries are sorted: the first of a config is its fastest
  for (const RankedCandidate& entry : ranking.entries) {
    if (!seen.insert(entry.name.config).second) continue;
    if (const auto config = parse_config(entry.name.config))
      measured.candidates.push_back({*config, ranking.us(entry)});
  }
  if (measured.candidates.size() < 2) return std::nullopt;
  return measured;
}

double loss_of(const MeasuredProblem& measured, const WgmmaModel& model) {
  std::vector<double> predicted;
  double least = std::numeric_limits<double>::infinity();
  for (const MeasuredProblem::Candidate& c : measured.candidates) {
    predicted.push_back(std::log(predict_us(c.config, measured.problem, measured.device, model)));
    least = std::min(least, predicted.back());
  }
  const double best_us = measured.best_us();
  double sum = 0, weights = 0;
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const double weight = std::exp((least - predicted[i]) / kPredictionSpread);
    sum += weight * std::log(measured.candidates[i].us / best_us);
    weights += weight;
  }
  return sum / weights;
}

/// The loss that keeps constants which few problems show near their start.
double pull(const WgmmaModel& model, const WgmmaModel& start) {
  double sum = 0;
  for (const WgmmaConstant& constant : kWgmmaConstants) {
    const double change = std::log(model.*constant.member / start.*constant.member);
    sum += change * change;
  }
  return kPull * sum;
}

}  // namespace

double MeasuredProblem::best_us() const { return std::ranges::min(candidates, {}, &Candidate::us).us; }

std::vector<MeasuredProblem> measured_problems(std::span<const TraceLine> lines) {
  std::vector<std::string> order;
  std::map<std::string, DeviceInfo> devices;
  std::optional<DeviceInfo> device;
  for (const TraceLine& line : lines) {
    if (const auto* header = std::get_if<TraceHeader>(&line)) device = device_of(header->environment);
    const auto* sample = std::get_if<TraceSample>(&line);
    if (sample != nullptr && device && devices.emplace(sample->problem, *device).second) {
      order.push_back(sample->problem);
    }
  }
  std::vector<MeasuredProblem> all;
  for (const std::string& text : order) {
    if (auto measured = measured_problem(lines, text, devices.at(text))) all.push_back(*std::move(measured));
  }
  return all;
}

double regret(const MeasuredProblem& measured, const WgmmaModel& model) {
  const auto predicted = [&](const MeasuredProblem::Candidate& c) {
    return predict_us(c.config, measured.problem, measured.device, model);
  };
  return std::ranges::min(measured.candidates, {}, predicted).us / measured.best_us() - 1;
}

double mean_regret(std::span<const MeasuredProblem> problems, const WgmmaModel& model) {
  double sum = 0;
  for (const MeasuredProblem& measured : problems) sum += regret(measured, model);
  return problems.empty() ? 0 : sum / static_cast<double>(problems.size());
}

double fit_loss(std::span<const MeasuredProblem> problems, const WgmmaModel& model) {
  double sum = 0;
  for (const MeasuredProblem& measured : problems) sum += loss_of(measured, model);
  return problems.empty() ? 0 : sum / static_cast<double>(problems.size());
}

WgmmaModel fit_model(std::span<const MeasuredProblem> problems, const WgmmaModel& start,
                     const std::function<void(double)>& progress) {
  WgmmaModel best = start;
  double least = fit_loss(problems, best);
  for (int round = 0; round < kMostRounds; ++round) {
    bool has_gained = false;
    for (const WgmmaConstant& constant : kWgmmaConstants) {
      for (const double factor : {0.7, 0.9, 0.98, 1.02, 1.1, 1.3}) {
        WgmmaModel changed = best;
        changed.*constant.member *= factor;
        const double loss = fit_loss(problems, changed) + pull(changed, start);
        if (!(loss < least - kLeastGain)) continue;
        best = changed, least = loss;
        has_gained = true;
      }
    }
    if (progress) progress(least);
    if (!has_gained) break;
  }
  return best;
}

}  // namespace hotgemm
