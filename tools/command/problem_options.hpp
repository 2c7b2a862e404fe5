#pragma once

#include <hotgemm/types.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace hotgemm::command {

/// The options that describe problems.
struct ProblemOptions {
  std::vector<std::string> shapes;
  std::vector<std::string> shape_files;
  std::vector<std::string> layouts;
  std::vector<std::string> dtypes;
  std::string accumulator;
  std::string alignment;
  int beta = -1;  ///< 0 or 1; -1 if it was not given
};

/// The alignment of problems without --align.
enum class DefaultAlignment {
  packed,  ///< the alignment of packed matrices
  widest,  ///< 16 bytes for each operand
};

void add_problem_options(CLI::App& app, ProblemOptions& options, DefaultAlignment alignment);

/// The problems that the options describe, each once and in order: --shape in every layout and type, then those of the
/// files. Throws Error{invalid_argument} that names the bad word, and Error{not_supported} for types that cannot be
/// combined.
std::vector<Problem> read_problems(const ProblemOptions& options, DefaultAlignment alignment);

/// As read_problems, but throws Error{invalid_argument} if there is no problem.
std::vector<Problem> require_problems(const ProblemOptions& options, DefaultAlignment alignment);

/// The text for a problem in tables: "4096x4096x512 nt f16", followed by unusual properties: "acc f16", "align 2,16,2",
/// "beta".
std::string label(const Problem& problem);

/// TFLOP/s if `problem` takes `us` microseconds.
double tflops(const Problem& problem, double us);

}  // namespace hotgemm::command
