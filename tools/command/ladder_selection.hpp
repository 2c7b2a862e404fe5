#pragma once

#include "ladder/ladder.hpp"

#include <hotgemm/types.hpp>

#include <CLI/CLI.hpp>

#include <optional>
#include <string>
#include <vector>

namespace hotgemm::command {

/// The options that select the rungs and the problems.
struct LadderOptions {
  std::vector<std::string> rungs;
  std::vector<std::string> excluded;  ///< rungs
  std::vector<std::string> configs;
  std::vector<std::string> families;
  std::vector<std::string> shapes;
  std::vector<std::string> shape_files;
  std::string grid;
  std::string layout;
  std::string dtype;
  std::string accumulator;
};
void add_ladder_options(CLI::App& app, LadderOptions& options);

/// A row of the ladder that will run: a rung, or a config that --config names.
struct LadderEntry {
  std::string name;                    ///< of the kernel in the material, or of the config
  std::string label;                   ///< of the row in the material's tables, or the config's name
  std::optional<KernelConfig> config;  ///< empty for cuBLAS
  std::optional<Rung> rung;            ///< empty for a config of --config
  bool is_named = false;               ///< by --rung or --config; a refusal is then a failure
};

/// A problem with all entries that run on it, cuBLAS last. A problem of a file may have none.
struct LadderProblem {
  Workload problem;
  std::vector<LadderEntry> entries;
};

/// The selection of the options: a problem for each shape, layout and element type, then those of the files. Throws
/// Error{invalid_argument} that names the bad word, or says that nothing was selected.
std::vector<LadderProblem> ladder_problems(LadderOptions options);

}  // namespace hotgemm::command
