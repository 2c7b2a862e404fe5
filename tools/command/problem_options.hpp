#pragma once

#include <hotgemm/types.hpp>

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace hotgemm::command {

/// The options that name problems.
struct ProblemOptions {
  std::vector<std::string> shapes;
  std::vector<std::string> shape_files;
  std::vector<std::string> layouts;
  std::vector<std::string> dtypes;
  std::string accumulator;
  std::string alignment;
  int beta = -1;  ///< 0 or 1; -1 if it was not given
};

/// Which alignment classes problems have that --align says nothing about.
enum class DefaultAlignment {
  packed,  ///< those of packed matrices
  widest,  ///< 16 bytes each
};

void add_problem_options(CLI::App& app, ProblemOptions& options, DefaultAlignment alignment);

/// The problems that the options name, each once, in their order: --shape in every layout and type, then the files'.
/// Throws Error{invalid_argument} that names the bad word, Error{not_supported} for types that do not go together.
std::vector<Problem> read_problems(const ProblemOptions& options, DefaultAlignment alignment);

/// read_problems; throws Error{invalid_argument} if there is none.
std::vector<Problem> require_problems(const ProblemOptions& options, DefaultAlignment alignment);

/// A problem in a table: "4096x4096x512 nt f16", then what is not as usual: "acc f16", "align 2,16,2", "beta".
std::string label(const Problem& problem);

/// TFLOP/s of `problem` in `us` microseconds.
double tflops(const Problem& problem, double us);

}  // namespace hotgemm::command
