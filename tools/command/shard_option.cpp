#include "command/shard_option.hpp"

#include "plan/shards.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>

namespace hotgemm::command {
namespace {

/// "2/8": the third of eight parts.
Rank parse_part(const std::string& text) {
  Rank rank{.launcher = "--shard"};
  const char* const end = text.data() + text.size();
  const auto [slash, error] = std::from_chars(text.data(), end, rank.index);
  if (error == std::errc() && slash != end && *slash == '/') {
    const auto [last, count_error] = std::from_chars(slash + 1, end, rank.count);
    if (count_error == std::errc() && last == end && 0 <= rank.index && rank.index < rank.count) return rank;
  }
  throw Error(ErrorCode::invalid_argument,
              fmt::format("--shard {}: expected auto, or i/n with i from 0 to n-1, as in 0/8", text));
}

}  // namespace

void add_shard_option(CLI::App& app, std::string& shard) {
  app.add_option("--shard", shard,
                 "take a part of the problems only: i/n, the part i from 0 to n-1; or auto, by the rank and size that "
                 "torchrun, an MPI, Slurm or a Kubernetes job (JOB_COMPLETION_INDEX, HOTGEMM_JOB_SIZE) has set. The "
                 "parts of one list cost about the same, and each problem class is in exactly one")
      ->type_name("i/n|auto");
}

Rank rank_of(const std::string& shard) {
  if (shard.empty()) return {};
  if (shard != "auto") return parse_part(shard);
  try {
    return rank_from([](const char* name) { return std::getenv(name); }).value_or(Rank{.launcher = "no launcher"});
  } catch (const Error& error) {
    throw Error(error.code(), "--shard auto: " + std::string(error.what()));
  }
}

std::vector<Workload> take_share(Session& session, const std::string& shard, const std::vector<Workload>& problems,
                                 const std::function<double(const Workload&)>& cost) {
  if (shard.empty()) return problems;
  const Rank rank = rank_of(shard);
  std::vector<Workload> share = share_of(problems, rank.index, rank.count, cost);
  session.output["shard"] = {{"index", rank.index},
                             {"count", rank.count},
                             {"launcher", rank.launcher},
                             {"problems", share.size()},
                             {"of", problems.size()}};
  session.note(fmt::format("hotgemm: shard {} of {} ({}): {} of {} problems", rank.index, rank.count, rank.launcher,
                           share.size(), problems.size()));
  return share;
}

}  // namespace hotgemm::command
