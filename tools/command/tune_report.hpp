#pragma once

#include "command/session.hpp"
#include "tune/tuning_run.hpp"

#include <cstddef>
#include <string>

namespace hotgemm::command {

/// A comparison in the form of --json; null if there is none.
Json to_json(const CublasComparison& cublas);
/// A result in the form of --json.
Json to_json(const ProblemResult& result);
/// Puts the results, in their order here, and the facts about the run into the output of --json.
void add_to_json(const TuningReport& report, Json& output);

/// One line, without the problem: "mma_… r8m, 211.5 us, 649.8 TFLOP/s, 0.971 of cuBLAS, 20 measured, 3.1 s".
std::string summary(const ProblemResult& result);

/// A table with a row for each problem.
std::string results_table(const TuningReport& report);
/// A table with a row for each rejected candidate; empty if there is none.
std::string rejections_table(const TuningReport& report);
/// Lines about the whole run: rejections by kind, time, restarts, and the problems that are left, with the reason.
std::string run_summary(const TuningReport& report);

}  // namespace hotgemm::command
