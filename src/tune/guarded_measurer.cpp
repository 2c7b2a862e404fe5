#include "tune/guarded_measurer.hpp"

#include "base/log.hpp"
#include "gpu/code_digest.hpp"

#include <hotgemm/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace hotgemm {

bool is_vetted(const Engine& engine, const Cubin& cubin, const Environment& where) {
  return engine.vetted.knows({kernel_digest(cubin), where.gpu, where.driver});
}

void reject_what_ended_processes(Engine& engine) {
  take_attempts_of_the_dead(engine.attempts, [&](std::vector<RejectionRecord> attempts) {
    for (RejectionRecord& attempt : attempts) {
      log(LogLevel::warn,
          attempt.config + " is not measured again soon: " + attempt.reason + ", on " + attempt.problem);
      engine.rejections.add(std::move(attempt));
    }
  });
}

GuardedMeasurer::GuardedMeasurer(Measurer& inner, Engine& engine, const Workload& problem,
                                 std::span<const Candidate> candidates)
    : inner_(inner), engine_(engine), problem_(to_string(problem)), mark_(engine.attempts) {
  for (const Candidate& c : candidates) {
    if (c.cubin) identities_[c.cubin->symbol] = c.identity;
  }
}

std::vector<Verdict> GuardedMeasurer::check(std::span<const Trial> trials, unsigned seed) {
  std::vector<Verdict> verdicts;
  for (const Trial& trial : trials) {
    const std::span one(&trial, 1);
    try {
      mark(one, Stage::check);
    } catch (const Error& error) {
      verdicts.push_back({Stage::load, std::string("not vetted: ") + error.what()});
      continue;
    }
    try {
      verdicts.push_back(inner_.check(one, seed).front());
    } catch (const Error& error) {
      if (error.code() == ErrorCode::context_lost) blame(one, Stage::check, error);
      throw;
    }
  }
  mark({}, Stage::check);
  return verdicts;
}

RaceResult GuardedMeasurer::race(std::span<const Trial> trials, const RaceOptions& options, bool with_baseline) {
  mark(trials, Stage::measure);
  try {
    RaceResult result = inner_.race(trials, options, with_baseline);
    mark({}, Stage::measure);
    return result;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::context_lost) blame(trials, Stage::measure, error);
    throw;
  }
}

bool GuardedMeasurer::is_vetted(const Trial& trial) const {
  return hotgemm::is_vetted(engine_, *trial.cubin, gpu().environment);
}

RejectionRecord GuardedMeasurer::rejection(const Trial& trial, Stage stage, std::string reason) const {
  return {.identity = identities_.at(trial.cubin->symbol),
          .config = to_string(trial.config),
          .problem = problem_,
          .stage = std::string(to_string(stage)),
          .reason = std::move(reason),
          .environment = gpu().environment};
}

void GuardedMeasurer::mark(std::span<const Trial> trials, Stage stage) {
  std::vector<RejectionRecord> attempts;
  for (const Trial& trial : trials) {
    if (is_vetted(trial)) continue;
    const std::string among = trials.size() > 1 ? ", in a race of " + std::to_string(trials.size()) : "";
    attempts.push_back(rejection(
        trial, stage, "ended its process: " + std::to_string(::getpid()) + " ended while it ran this kernel" + among));
  }
  mark_.set(attempts);
}

void GuardedMeasurer::blame(std::span<const Trial> trials, Stage stage, const Error& error) {
  for (const Trial& trial : trials) {
    if (is_vetted(trial)) continue;  // work of the host may have destroyed the context
    engine_.rejections.add(rejection(trial, stage, std::string("faulted: ") + error.what()));
  }
}

}  // namespace hotgemm
