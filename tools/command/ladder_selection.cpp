#include "command/ladder_selection.hpp"

#include "base/text.hpp"
#include "command/problem_options.hpp"
#include "command/size_ranges.hpp"
#include "config/prepacked.hpp"
#include "config/problem_text.hpp"
#include "config/traits.hpp"
#include "config/work.hpp"
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

bool is_among(const Rung& rung, const std::vector<std::string>& words) {
  return std::ranges::any_of(words, [&](const std::string& name) { return rung.is_called(name); });
}

bool is_named(const Rung& rung, const LadderOptions& options) { return is_among(rung, options.rungs); }

void require_known(const LadderOptions& options) {
  for (const std::vector<std::string>* words : {&options.rungs, &options.excluded}) {
    for (const std::string& word : *words) {
      if (find_rungs(word).empty())
        bad(in_quotes(word) + " is not a rung of the ladder; `hotgemm ladder --no-run --verbose` lists the names");
    }
  }
  for (const std::string& word : options.families) {
    const bool is_family = std::ranges::find(families(), word, &Family::name) != families().end();
    if (is_family || word == kLibrary) continue;
    bad(in_quotes(word) + " is not a family; known families are " + family_names() + ", " + std::string(kLibrary));
  }
}

/// True if --rung or --family selects the rung. Each of them adds rows. Without both, all rungs are selected, unless
/// there is a --config. --exclude leaves rungs out of all that.
bool is_selected(const Rung& rung, const LadderOptions& options) {
  if (is_among(rung, options.excluded)) return false;
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

LadderEntry entry_of(const Rung& rung, const LadderOptions& options) {
  return {.name = std::string(rung.name),
          .label = std::string(rung.label),
          .config = rung.config,
          .rung = rung,
          .is_named = is_named(rung, options)};
}

LadderEntry entry_of(const std::string& config_name) {
  const std::optional<KernelConfig> config = parse_config(config_name);
  if (!config) bad(in_quotes(config_name) + " is not the name of a config; `hotgemm show --shape MxNxK` lists some");
  return {.name = config_name, .label = config_name, .config = config, .rung = {}, .is_named = true};
}

void put_cublas_last(std::vector<LadderEntry>& entries) {
  std::stable_partition(entries.begin(), entries.end(),
                        [](const LadderEntry& entry) { return entry.config.has_value(); });
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
    add(groups, rung.op_b, rung.element, entry_of(rung, options));
  }
  const Op op_b = options.layout.empty() ? ladder_op_b(dtype_of(options)) : parse_layout(options.layout).second;
  for (const std::string& name : options.configs) add(groups, op_b, dtype_of(options), entry_of(name));
  for (Group& group : groups) put_cublas_last(group.entries);
  return groups;
}

Workload problem_of(const Sizes& sizes, const Group& group, const LadderOptions& options) {
  Problem problem{.m = sizes.m, .n = sizes.n, .k = sizes.k, .op_b = group.op_b};
  const DType sums = options.accumulator.empty() ? ladder_sums(group.element) : parse_dtype(options.accumulator);
  if (sums != ladder_sums(group.element) && group.element != DType::f16)
    bad(fmt::format("--acc {} needs f16 elements, not {}", options.accumulator, to_string(group.element)));
  problem.types = types_of(Rung{.element = group.element}.traits(sums));
  if (problem.m == 0 || problem.n == 0 || problem.k == 0)
    bad(fmt::format("{}x{}x{}: there is nothing to measure", problem.m, problem.n, problem.k));
  validate(problem);
  return Workload(problem);
}

std::vector<Sizes> sizes_of(const LadderOptions& options) {
  std::vector<std::string> words = options.shapes;
  if (!options.grid.empty()) words.emplace_back(options.grid == "27" ? kGridOf27 : kGridOf125);
  if (words.empty() && options.shape_files.empty()) words.emplace_back("4096x4096x4096");
  std::vector<Sizes> all;
  for (const std::string& word : words) {
    for (const Sizes& sizes : parse_size_ranges(word)) all.push_back(sizes);
  }
  return all;
}

/// True if `problem` asks for a product and nothing else. The ladder runs no other.
bool is_plain(const Problem& problem) {
  return is_one_product(problem) && problem.epilogue == Epilogue{} && !is_prepacked(problem) && problem.sm_limit == 0 &&
         problem.order == SumOrder::any;
}

/// True if the rung's kernel computes `problem`, which is plain.
bool computes(const Rung& rung, const Workload& problem) {
  return problem.op_a == Op::n && problem.op_b == rung.op_b &&
         problem.types == types_of(rung.traits(traits_of(problem).accumulator));
}

/// The entries for a problem of a file. Its line says the layout and the types; --layout and --dtype leave rungs out.
std::vector<LadderEntry> entries_for(const Workload& problem, const LadderOptions& options) {
  std::vector<LadderEntry> entries;
  if (!is_plain(problem)) return entries;
  for (const Rung& rung : rungs()) {
    const bool has_dtype = options.dtype.empty() || rung.element == dtype_of(options);
    if (is_selected(rung, options) && has_dtype && has_right_layout(rung, options) && computes(rung, problem))
      entries.push_back(entry_of(rung, options));
  }
  for (const std::string& name : options.configs) entries.push_back(entry_of(name));
  put_cublas_last(entries);
  return entries;
}

void add_problems_of_files(const LadderOptions& options, std::vector<LadderProblem>& problems) {
  const ProblemOptions files{.shape_files = options.shape_files, .accumulator = options.accumulator};
  for (const Workload& problem : read_problems(files)) problems.push_back({problem, entries_for(problem, options)});
  if (std::ranges::all_of(problems, [](const LadderProblem& problem) { return problem.entries.empty(); }))
    bad("no selected rung computes a problem of " + options.shape_files.front());
}

}  // namespace

void add_ladder_options(CLI::App& app, LadderOptions& options) {
  app.add_option("--rung", options.rungs, "names or labels of the material's kernels; may be repeated")->delimiter(',');
  app.add_option("--exclude", options.excluded,
                 "names or labels of rungs that are left out, such as those that are slow")
      ->delimiter(',');
  app.add_option("--config", options.configs,
                 "further rungs: names of configs, in the layout of --layout, else nn, or nt for s8 and tf32")
      ->delimiter(',');
  app.add_option("--family", options.families,
                 "rungs of these families; cublas is the library (default: all rungs, unless --rung or --config "
                 "is given)")
      ->delimiter(',');
  app.add_option("--shape", options.shapes,
                 "MxNxK, or several (default 4096x4096x4096); or a range of squares FIRST:LAST:STEP, as in "
                 "256:16384:256, or FIRST:LAST:*FACTOR; or ranges in place of m, n and k: all combinations")
      ->delimiter(',');
  app.add_option("--shapes", options.shape_files,
                 "files of problems, as other commands read them: each runs the rungs of its layout and types; f16 "
                 "sums in f32 unless the line or --acc says f16")
      ->delimiter(',');
  app.add_option("--grid", options.grid,
                 std::string("the sizes of the material's runs: 27, which is --shape ") + kGridOf27 +
                     ", or 125, which is --shape " + kGridOf125)
      ->check(CLI::IsMember({"27", "125"}));
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
  options.excluded = joined_names(options.excluded);
  require_known(options);
  std::vector<LadderProblem> problems;
  if (const std::vector<Sizes> all = sizes_of(options); !all.empty()) {
    const std::vector<Group> groups = groups_of(options);
    if (groups.empty()) {
      bad(fmt::format("no selected rung has type {}{}", to_string(dtype_of(options)),
                      options.layout.empty() ? "" : " and layout " + options.layout));
    }
    for (const Sizes& sizes : all) {
      for (const Group& group : groups) problems.push_back({problem_of(sizes, group, options), group.entries});
    }
  }
  if (!options.shape_files.empty()) add_problems_of_files(options, problems);
  return problems;
}

}  // namespace hotgemm::command
