#pragma once

#include "command/results_file.hpp"
#include "command/session.hpp"
#include "tune/bench.hpp"

#include <string>
#include <vector>

namespace hotgemm::command {

/// TFLOP/s of a ceiling with the chip to itself, before and after all problems.
struct CeilingAlone {
  std::string name;
  double f32_before = 0;
  double f16_before = 0;
  double f32_after = 0;
  double f16_after = 0;
};

/// What a run of `bench` has found.
struct BenchReport {
  std::vector<BenchResult> results;  ///< one per problem and timing mode
  bool has_baseline = true;
  bool is_complete = true;             ///< false: interrupted before all problems had their turn
  std::vector<CeilingAlone> ceilings;  ///< the first is the one that `of_ceiling` speaks of

  std::size_t failures() const;
};

/// The table with what belongs above and below it: what could not run first, the means last.
std::string to_text(const BenchReport& report);
/// A section of a document: heading, environment, and to_text's content in markdown.
std::string to_markdown(const BenchReport& report, const std::string& heading, const RunEnvironment& environment);
void to_json(const BenchReport& report, Json& output);

}  // namespace hotgemm::command
