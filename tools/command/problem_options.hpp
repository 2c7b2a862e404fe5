#pragma once

#include "config/function_source.hpp"
#include "config/problem_text.hpp"
#include "config/template_bundle.hpp"

#include <hotgemm/error.hpp>
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
  std::vector<FunctionSource> functions;  ///< of --epilogue; read at once, because a pipe is empty the second time
  int beta = -1;                          ///< 0 or 1; -1 if it was not given
};

/// Returns what `parse` does. Its errors begin with `place`, the option or FILE:LINE, unless that is empty.
template <class Parse>
auto parse_option(const std::string& place, const Parse& parse) {
  try {
    return parse();
  } catch (const Error& error) {
    if (place.empty()) throw;
    throw Error(error.code(), place + ": " + error.what());
  }
}

void add_problem_options(CLI::App& app, ProblemOptions& options);
/// --epilogue, for commands that render kernels of fused problems.
void add_function_option(CLI::App& app, ProblemOptions& options);

/// The problems of a file, or of all --shape.
struct ProblemSet {
  std::string name;  ///< of the file, without directory and extension
  std::vector<Workload> problems;
};

/// The problems that the options describe, by where they come from. A problem may be in several sets. Throws as
/// read_problems does.
std::vector<ProblemSet> read_problem_sets(const ProblemOptions& options);
/// The problems of all sets, each once and in order, with what the files say about their use: the counts of equal lines
/// add up. Two problems of one class are two.
std::vector<Shape> read_shapes(const ProblemOptions& options);
/// The problems of all sets, each once and in order.
std::vector<Workload> problems_of(const std::vector<ProblemSet>& sets);

/// The problems that the options describe, each once and in order: --shape in every layout and type, then those of the
/// files. Throws Error{invalid_argument} that names the bad word, and Error{not_supported} for a problem that no kernel
/// computes.
std::vector<Workload> read_problems(const ProblemOptions& options);

/// Like read_problems, but throws Error{invalid_argument} if there is no problem.
std::vector<Workload> require_problems(const ProblemOptions& options);

/// Adds the functions of --epilogue to `bundle`, so that their kernels can be rendered.
void add_functions(const ProblemOptions& options, TemplateBundle& bundle);

/// Throws Error{invalid_argument} if there is no problem.
void require(const std::vector<Workload>& problems);

/// The text for a problem in tables: to_string, without the alignment if rows are packed: "4096 4096 512 nt f16
/// beta=1".
std::string label(const Workload& problem);

/// TFLOP/s if `problem` takes `us` microseconds.
double tflops(const Workload& problem, double us);
/// The same for a time of tuning, which is a mean over uniform and skewed groups.
double timed_tflops(const Workload& problem, double us);

}  // namespace hotgemm::command
