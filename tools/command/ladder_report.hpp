#pragma once

#include "command/ladder_rows.hpp"
#include "command/results_file.hpp"

#include <string>
#include <vector>

namespace hotgemm::command {

/// The rungs of one problem, measured or only built.
struct LadderTable {
  Workload problem;
  std::vector<LadderRow> rows;
};

/// What a run of `ladder` has found.
struct LadderReport {
  DeviceInfo device;
  std::vector<LadderTable> tables;
  bool was_run = true;      ///< false: built only
  bool is_complete = true;  ///< false: interrupted, or the CUDA context was lost
  bool is_verbose = false;  ///< names, and the least, mean and largest of times
  bool with_roofline = false;

  /// Whether a row has that outcome; of those that were refused, whether one that was named was.
  bool has(LadderOutcome outcome) const;
};

/// The material's table of each problem, with what each kernel costs beside its speed.
std::string to_text(const LadderReport& report);
/// A section of a document with the same.
std::string to_markdown(const LadderReport& report, const std::string& heading, const RunEnvironment& environment);
/// A heading, and a line for each rung and problem; what was not measured is empty.
std::string to_csv(const LadderReport& report);
void to_json(const LadderReport& report, Json& output);

}  // namespace hotgemm::command
