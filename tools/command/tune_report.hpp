#pragma once

#include "command/session.hpp"
#include "tune/tuning_run.hpp"

#include <cstddef>
#include <string>

namespace hotgemm::command {

/// A result as --json has it.
Json to_json(const ProblemResult& result);
/// What --json says of the run besides its results.
void add_to_json(const TuningReport& report, Json& output);

/// One line, without the problem: "mma_… r8m, 211.5 us, 649.8 TFLOP/s, 0.971 of cuBLAS, 20 measured, 3.1 s".
std::string summary(const ProblemResult& result);

/// A row for each problem.
std::string results_table(const TuningReport& report);
/// A row for each candidate that was rejected; empty if there is none.
std::string rejections_table(const TuningReport& report);
/// Lines on the whole run: rejections by kind, time, restarts, and what is left and why.
std::string run_summary(const TuningReport& report);

}  // namespace hotgemm::command
