#pragma once

#include "command/bench_summary.hpp"
#include "command/ceiling.hpp"
#include "command/results_file.hpp"
#include "command/session.hpp"
#include "tune/bench.hpp"

#include <string>
#include <vector>

namespace hotgemm::command {

/// The rates of a ceiling that runs alone on the chip, before and after all problems.
struct CeilingAlone {
  std::string name;
  CeilingRates before;
  CeilingRates after;
};

/// The results of a run of `bench`.
struct BenchReport {
  std::vector<BenchResult> results;  ///< one per problem and timing mode
  bool has_baseline = true;
  bool asked_power = false;            ///< the verdict on power was to choose the measure
  std::size_t left = 0;                ///< problems that were not measured, because the run was interrupted
  std::vector<CeilingAlone> ceilings;  ///< `of_ceiling` refers to the first one
  std::vector<SetSummary> summary;     ///< by file; empty unless it was asked for

  std::size_t failures() const;
  bool is_complete() const { return left == 0; }
};

/// The table, with failures above it and the means below it.
std::string to_text(const BenchReport& report);
/// A section of a document: heading, environment, and the content of to_text in markdown.
std::string to_markdown(const BenchReport& report, const std::string& heading, const RunEnvironment& environment);
void to_json(const BenchReport& report, Json& output);

}  // namespace hotgemm::command
