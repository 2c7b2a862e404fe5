#include "command/named_config.hpp"

#include "base/text.hpp"
#include "config/traits.hpp"
#include "ladder/ladder.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hotgemm::command {
namespace {

constexpr std::int64_t kExampleSize = 4096;

[[noreturn]] void bad(const std::string& message) { throw Error(ErrorCode::invalid_argument, message); }

std::string labels_of(const std::vector<Rung>& rungs) {
  std::string labels;
  for (const Rung& rung : rungs) labels += (labels.empty() ? "" : ", ") + std::string(rung.label);
  return labels;
}

}  // namespace

NamedConfig named_config(const std::string& text) {
  Problem example{.m = kExampleSize, .n = kExampleSize, .k = kExampleSize};
  if (const auto config = parse_config(text)) return {*config, example};
  const std::vector<Rung> found = find_rungs(text);
  if (found.empty()) {
    bad(in_quotes(text) +
        " is not the name of a config, as mma_m128_n128_k32_wm2_wn2_s4_x1_f1_e1_b1 is, nor that of a rung of the "
        "ladder; `hotgemm ladder --no-run --verbose` lists the rungs");
  }
  const Rung& rung = found.front();
  if (!rung.config) bad(in_quotes(text) + " is a kernel of cuBLAS, which has no config");
  if (std::ranges::any_of(found, [&](const Rung& other) { return other.config != rung.config; }))
    bad(in_quotes(text) + " has several configs, one for each of its labels: " + labels_of(found));
  example.op_b = rung.op_b;
  example.types = types_of(rung.traits());
  return {*rung.config, example};
}

}  // namespace hotgemm::command
