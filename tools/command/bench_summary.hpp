#pragma once

#include "command/problem_options.hpp"
#include "command/session.hpp"
#include "tune/set_summary.hpp"

#include <span>
#include <string>
#include <vector>

namespace hotgemm::command {

/// One summary for each set.
std::vector<SetSummary> summary_of(std::span<const ProblemSet> sets, std::span<const BenchResult> results);

/// The table, with what failed above it.
std::string to_text(std::span<const SetSummary> summaries);
std::string to_markdown(std::span<const SetSummary> summaries);
Json to_json(std::span<const SetSummary> summaries);

}  // namespace hotgemm::command
