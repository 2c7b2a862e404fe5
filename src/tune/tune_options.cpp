#include "tune/tune_options.hpp"

#include "base/refuse.hpp"

#include <fmt/format.h>

namespace hotgemm {

void validate(const TuneOptions& options) {
  const auto require = [](bool is_good, const char* name, auto value, const char* expected) {
    if (!is_good) refuse(fmt::format("{} is {}; it must be a number {}", name, value, expected));
  };
  require(options.max_candidates >= 1, "max_candidates", options.max_candidates, "from 1");
  require(options.budget_s >= 0, "budget_s", options.budget_s, "from 0");
  require(options.scratch_bytes >= 0, "scratch_bytes", options.scratch_bytes, "from 0");
  require(options.scratch_share >= 0 && options.scratch_share <= 1, "scratch_share", options.scratch_share,
          "from 0 to 1");
  require(options.jobs >= 0, "jobs", options.jobs, "from 0");
  require(options.rounds >= 1, "rounds", options.rounds, "from 1");
}

}  // namespace hotgemm
