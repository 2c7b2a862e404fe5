#include "command/ladder_selection.hpp"

#include "base/text.hpp"
#include "config/problem_text.hpp"
#include "config/shapes.hpp"
#include "config/traits.hpp"
#include "ladder/rung_name.hpp"
#include "runtime/validate.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace hotgemm::command {
namespace {

constexpr std::string_view kLibrary = "cublas";

[[noreturn]] void bad(const std::string& message) { throw Error(ErrorCode::invalid_argument, message); }

bool contains(const std::vector<std::string>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

std::string_view family_name(const Rung& rung) { return rung.config ? family_of(*rung.config).name : kLibrary; }

bool is_named(const Rung& rung, const LadderOptions& options) {
  return std::ranges::any_of(options.rungs, [&](const std::string& name) { return rung.is_called(name); });
}

void require_known(const LadderOptions& options) {
  for (const std::string& word : options.rungs) {
    if (find_rungs(word).empty())
      bad(in_quotes(word) + " is not a rung of the ladder; `hotgemm ladder --no-run --verbose` lists the names");
  }
  for (const std::string& word : options.families) {
    const bool is_family = std::ranges::find(families(), word, &Family::name) != families().end();
    if (is_family || word == kLibrary) continue;
    bad(in_quotes(word) + " is not a family; known families are " + family_names() + ", " + std::string(kLibrary));
  }
}

/// True if --rung or --family selects the rung. Each of them adds rows. Without both, all rungs are selected, unless
/// there is a --config.
bool is_selected(const Rung& rung, const LadderOptions& options) {
  if (options.rungs.empty() && options.families.empty()) return options.configs.empty();
  return is_named(rung, options) || contains(options.families, family_name(rung));
}

DType dtype_of(const LadderOptions& options) { return options.dtype.empty() ? DType::f16 : parse_dtype(options.dtype); }

/// A rung that is named on the command line keeps its own type, unless --dtype is given.
bool has_right_type(const Rung& rung, const LadderOptions& options) {
  if (options.dtype.empty() && is_named(rung, options)) return true;
  return rung.element == dtype_of(options);
}

bool has_right_layout(const Rung& rung, const LadderOptions& options) {
  return options.layout.empty() || parse_layout(options.layout).second == rung.op_b;
}

/// The entries to run on problems of one layout and one element type.
struct Group {
  Op op_b;
  DType element;
  std::vector<LadderEntry> entries;
};

void add(std::vector<Group>& groups, Op op_b, DType element, LadderEntry entry) {
  auto group = std::ranges::find_if(groups, [&](const Group& g) { return g.op_b == op_b && g.element == element; });
  if (group == groups.end()) group = groups.insert(group, {op_b, element, {}});
  group->entries.push_back(std::move(entry));
}

std::vector<Group> groups_of(const LadderOptions& options) {
  std::vector<Group> groups;
  for (const Rung& rung : rungs()) {
    if (!is_selected(rung, options)) continue;
    const bool is_right = has_right_type(rung, options) && has_right_layout(rung, options);
    if (!is_right && is_named(rung, options)) {
      bad(fmt::format("rung {} has type {} and layout n{}; --dtype or --layout excludes it", rung.name,
                      to_string(rung.element), to_string(rung.op_b)));
    }
    if (!is_right) continue;
    add(groups, rung.op_b, rung.element,
        {.name = std::string(rung.name),
         .label = std::string(rung.label),
         .config = rung.config,
         .rung = rung,
         .is_named = is_named(rung, options)});
  }
  const Op op_b = options.layout.empty() ? ladder_op_b(dtype_of(options)) : parse_layout(options.layout).second;
  for (const std::string& name : options.configs) {
    const std::optional<KernelConfig> config = parse_config(name);
    if (!config) bad(in_quotes(name) + " is not the name of a config; `hotgemm show --shape MxNxK` lists some");
    add(groups, op_b, dtype_of(options), {.name = name, .label = name, .config = config, .rung = {}, .is_named = true});
  }
  for (Group& group : groups) {
    std::stable_partition(group.entries.begin(), group.entries.end(),
                          [](const LadderEntry& entry) { return entry.config.has_value(); });
  }
  return groups;
}

Workload problem_of(const std::string& shape, const Group& group, const LadderOptions& options) {
  const Sizes sizes = parse_sizes(shape);
  Problem problem{.m = sizes.m, .n = sizes.n, .k = sizes.k, .op_b = group.op_b};
  const DType sums = options.accumulator.empty() ? ladder_sums(group.element) : parse_dtype(options.accumulator);
  if (sums != ladder_sums(group.element) && group.element != DType::f16)
    bad(fmt::format("--acc {} needs f16 elements, not {}", options.accumulator, to_string(group.element)));
  problem.types = types_of(Rung{.element = group.element}.traits(sums));
  if (problem.m == 0 || problem.n == 0 || problem.k == 0) bad(in_quotes(shape) + ": there is nothing to measure");
  validate(problem);
  return Workload(problem);
}

}  // namespace

void add_ladder_options(CLI::App& app, LadderOptions& options) {
  app.add_option("--rung", options.rungs, "names or labels of the material's kernels; may be repeated")->delimiter(',');
  app.add_option("--config", options.configs,
                 "further rungs: names of configs, in the layout of --layout, else nn, or nt for s8 and tf32")
      ->delimiter(',');
  app.add_option("--family", options.families,
                 "rungs of these families; cublas is the library (default: all rungs, unless --rung or --config "
                 "is given)")
      ->delimiter(',');
  app.add_option("--shape", options.shapes, "MxNxK, or several (default 4096x4096x4096)")->delimiter(',');
  app.add_option("--layout", options.layout, "only rungs of this layout (default: all, each in its own layout)")
      ->check(CLI::IsMember({"nn", "nt"}));
  app.add_option(
         "--dtype", options.dtype,
         "element type: f16 (default; a named rung keeps its own), f32, tf32 (matrices of f32) or s8 (D of s32)")
      ->check(CLI::IsMember({"f16", "f32", "tf32", "s8"}));
  app.add_option("--acc", options.accumulator, "accumulate in f16 (default for elements of f16) or f32")
      ->check(CLI::IsMember({"f16", "f32"}));
}

std::vector<LadderProblem> ladder_problems(LadderOptions options) {
  options.rungs = joined_names(options.rungs);
  require_known(options);
  const std::vector<Group> groups = groups_of(options);
  if (groups.empty()) {
    bad(fmt::format("no selected rung has type {}{}", to_string(dtype_of(options)),
                    options.layout.empty() ? "" : " and layout " + options.layout));
  }
  std::vector<LadderProblem> problems;
  const std::vector<std::string> usual{"4096x4096x4096"};
  for (const std::string& shape : options.shapes.empty() ? usual : options.shapes) {
    for (const Group& group : groups) problems.push_back({problem_of(shape, group, options), group.entries});
  }
  return problems;
}

}  // namespace hotgemm::command
