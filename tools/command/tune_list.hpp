#pragma once

#include "command/problem_options.hpp"
#include "command/session.hpp"
#include "runtime/engine.hpp"

#include <string>
#include <vector>

namespace hotgemm::command {

struct TuneListOptions {
  ProblemOptions problems;
  std::string shard;        ///< see add_shard_option
  bool only_stale = false;  ///< only classes whose record is stale; without problems, of all recorded classes
};

struct TuneList {
  std::vector<Workload> listed;    ///< the share of this process, as the lists have it
  std::vector<Workload> problems;  ///< those of it to be tuned, in the order of tuning
};

/// The problems that `hotgemm tune` measures on GPU `ordinal`. If the lists tell counts, as problem logs do, each class
/// is one problem, and those come first on which the program spent the most time: calls times microseconds, by the
/// record, else by the list, else by the model. Throws Error{invalid_argument} if no problem is given.
TuneList make_tune_list(Session& session, const TuneListOptions& options, Engine& engine, int ordinal);

}  // namespace hotgemm::command
