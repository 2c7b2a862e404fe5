#pragma once

#include "command/ladder_rows.hpp"
#include "command/results_file.hpp"

#include <string>
#include <vector>

namespace hotgemm::command {

/// The rungs of one problem. They were measured, or only built.
struct LadderTable {
  Workload problem;
  std::vector<LadderRow> rows;
};

/// The results of a run of `ladder`.
struct LadderReport {
  DeviceInfo device;
  std::vector<LadderTable> tables;
  bool was_run = true;      ///< false: only built
  bool is_complete = true;  ///< false: interrupted, or the CUDA context was lost
  bool is_verbose = false;  ///< prints names, and the least, mean and largest of times
  bool with_roofline = false;

  /// True if a row has that outcome. A refused row counts only if it was named on the command line.
  bool has(LadderOutcome outcome) const;
};

/// The material's table for each problem, with the resources of each kernel beside its speed.
std::string to_text(const LadderReport& report);
/// A section of a document with the same content.
std::string to_markdown(const LadderReport& report, const std::string& heading, const RunEnvironment& environment);
/// A heading line, and a line for each rung and problem. A value that was not measured is empty.
std::string to_csv(const LadderReport& report);
void to_json(const LadderReport& report, Json& output);

}  // namespace hotgemm::command
