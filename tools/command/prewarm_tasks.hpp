#pragma once

#include "command/problem_options.hpp"
#include "command/session.hpp"
#include "prewarm_run.hpp"

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace hotgemm::command {

/// The options that say what is prewarmed.
struct PrewarmSelection {
  ProblemOptions problems;
  std::vector<std::string> archs;
  bool from_db = false;
  bool all = false;         ///< from_db and candidates
  bool candidates = false;  ///< also the kernels that the tuner would try
  std::string m_buckets;    ///< "1:4096"
};

void add_selection_options(CLI::App& app, const Session& session, PrewarmSelection& selection);

/// True if no problem is given or asked for.
bool is_empty(const PrewarmSelection& selection);

/// The given problems on each architecture, then the classes of the records of all layers: on the architectures of
/// --arch, else on those of their records. Each once. Throws Error{invalid_argument} if there is none.
std::vector<PrewarmTask> tasks_of(const PrewarmSelection& selection, const Database& records);

}  // namespace hotgemm::command
