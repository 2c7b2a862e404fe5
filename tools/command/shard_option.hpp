#pragma once

#include "base/rank.hpp"
#include "command/session.hpp"

#include <hotgemm/problem.hpp>

#include <CLI/CLI.hpp>

#include <functional>
#include <string>
#include <vector>

namespace hotgemm::command {

/// --shard: "auto", "i/n", or empty for the whole list.
void add_shard_option(CLI::App& app, std::string& shard);

/// The rank that --shard means. Throws Error{invalid_argument}.
Rank rank_of(const std::string& shard);

/// The part of `problems` that --shard means, balanced by `cost`. Says so on stderr and in the output.
std::vector<Workload> take_share(Session& session, const std::string& shard, const std::vector<Workload>& problems,
                                 const std::function<double(const Workload&)>& cost);

}  // namespace hotgemm::command
