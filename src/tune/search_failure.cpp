#include "tune/search_failure.hpp"

#include "gpu/stopwatch.hpp"

#include <algorithm>
#include <string>

namespace hotgemm {

Error without_survivor(std::span<const Candidate> rows, const Workload& problem) {
  std::string reasons;
  for (const Candidate& c : rows) {
    if (!c.same_as.empty()) continue;
    const std::string why = c.reason.empty() ? std::string(kNoTimeLeft) : c.reason;
    reasons += "\n  " + to_string(c.config) + ": " + std::string(to_string(c.stage)) + ": " + why;
  }
  const auto ended_at = [&](Stage stage) {
    return std::ranges::any_of(rows, [&](const Candidate& c) { return c.stage == stage; });
  };
  const bool is_wrong = std::ranges::any_of(
      rows, [](const Candidate& c) { return kind_of(c.reason) == "wrong" || kind_of(c.reason) == "stray write"; });
  const bool was_built = std::ranges::any_of(rows, &Candidate::is_alive) || ended_at(Stage::load) ||
                         ended_at(Stage::check) || ended_at(Stage::measure);
  const ErrorCode code = is_wrong    ? ErrorCode::wrong_result
                         : was_built ? ErrorCode::driver_error
                                     : ErrorCode::compile_failed;
  return Error(code, "no candidate for " + to_string(problem) + " survived:" + reasons);
}

}  // namespace hotgemm
