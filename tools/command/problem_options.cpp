#include "command/problem_options.hpp"

#include "base/text.hpp"
#include "base/text_file.hpp"
#include "command/standard_streams.hpp"
#include "config/group_sizes.hpp"
#include "config/m_range.hpp"
#include "config/problem_text.hpp"
#include "config/shapes.hpp"
#include "config/work.hpp"
#include "runtime/validate.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace hotgemm::command {
namespace {

constexpr const char* kGrammar = "m n k layout type [key=value ...]";

std::vector<Shape> load_file(const std::string& name) {
  try {
    std::vector<Shape> shapes;
    if (name == "-") {
      const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
      shapes = parse_shapes(text, "stdin");
    } else {
      shapes = load_shapes(name);
    }
    if (shapes.empty()) throw Error(ErrorCode::invalid_argument, "the shape file " + name + " contains no problem");
    return shapes;
  } catch (const Error& error) {
    throw Error(ErrorCode::invalid_argument, error.what());
  }
}

FunctionSource read_function(const std::string& file) {
  try {
    return {std::string(without_byte_order_mark(read_text_file(file))), file};
  } catch (const Error& error) {
    throw Error(ErrorCode::invalid_argument, std::string("--epilogue: ") + error.what());
  }
}

/// The options that hold for problems of files too, over what their lines say.
void apply(Workload& problem, const ProblemOptions& options, const std::optional<EpilogueFunction>& function) {
  if (function && !problem.epilogue.has_function()) problem.epilogue.function = *function;
  if (!options.accumulator.empty())
    parse_option("--acc", [&] { parse_accumulation(options.accumulator, problem.types); });
  if (options.beta >= 0) problem.hints.beta_is_zero = options.beta == 0;
  if (!options.alignment.empty()) {
    const Hints packed = packed_hints(problem);
    Hints& hints = problem.hints;
    hints.align_a = packed.align_a;
    hints.align_b = packed.align_b;
    hints.align_d = packed.align_d;
    if (options.alignment != "packed") parse_option("--align", [&] { parse_alignments(options.alignment, hints); });
  }
  problem = Workload(problem, problem.hints);  // a prepacked operand stays aligned
  validate(problem);
}

constexpr const char* kProblemGroup = "Problems";

}  // namespace

void add_problem_options(CLI::App& app, ProblemOptions& options) {
  app.option_defaults()->group(kProblemGroup);
  app.add_option(
         "--shape", options.shapes,
         std::string("MxNxK, as in 4096x4096x512, or several separated by commas; or a whole problem in quotes, ") +
             kGrammar + "; keys are " + problem_keys() +
             "; m may be a range, as in 1:64: every bucket of m in it; may be repeated")
      ->type_name("MxNxK");
  app.add_option("--shapes", options.shape_files,
                 std::string("a file of problems with one ") + kGrammar +
                     " per line, or the same with commas; a result file of PyTorch's TunableOp; or a directory of such "
                     "*.txt and *.csv files, as HOTGEMM_PROBLEM_LOG makes; or several separated by commas; - is stdin")
      ->type_name("FILE")
      ->delimiter(',');
  app.add_option("--layout", options.layouts, "layout for --shape MxNxK: nn (default), nt, tn, tt, or several: nn,nt")
      ->type_name("LAYOUT")
      ->delimiter(',');
  app.add_option("--dtype", options.dtypes,
                 "element type for --shape MxNxK: f16 (default), bf16, f32, tf32, s8, e4m3, e5m2, or A*B>D; or "
                 "several: f16,bf16")
      ->type_name("TYPE")
      ->delimiter(',');
  app.add_option("--acc", options.accumulator,
                 "the compute type, acc= of a problem: f32 (default; s32 for s8), f16, tf32, s32, or f32,fast: "
                 "FP8 without promotion")
      ->type_name("TYPE[,fast]");
  app.add_option("--align", options.alignment,
                 "alignment of addresses and rows in bytes, align= of a problem: one number, or three for A,B,D, or "
                 "packed (default): the alignment of rows without padding")
      ->type_name("BYTES");
  app.add_option("--beta", options.beta, "1: C is read, 0 (default): C is not read")->check(CLI::IsMember({0, 1}));
  app.option_defaults()->group("Options");
}

void add_function_option(CLI::App& app, ProblemOptions& options) {
  const auto read = [&options](const std::vector<std::string>& files) {
    for (const std::string& file : files) options.functions.push_back(read_function(file));
  };
  app.add_option_function<std::vector<std::string>>(
         "--epilogue", read,
         "a file with the source of a function for epilogues: names of operands, and a C++ expression; it is "
         "the function of all problems that name none. May be repeated: then problems name theirs, as "
         "epilogue=function:NUMBER")
      ->type_name("FILE")
      ->group(kProblemGroup);
}

namespace {

/// An empty D has no kernel: calls return at once.
void require_elements(const Workload& problem) {
  if (problem.m > 0 && problem.n > 0) return;
  throw Error(ErrorCode::invalid_argument, label(problem) + ": " + (problem.m == 0 ? "m" : "n") +
                                               " is 0, so D has no elements and there is nothing to compute");
}

/// Sizes alone: --layout and --dtype say the rest.
bool is_sizes(const std::string& shape) { return shape.find(' ') == std::string::npos; }

/// Shapes by where they come from, in order; each problem once, with its calls together.
class ShapeSets {
 public:
  explicit ShapeSets(const ProblemOptions& options) : options_(options) {
    if (options.functions.size() == 1) function_ = options.functions[0].function();
  }

  void begin(std::string name) {
    sets_.push_back({std::move(name), {}});
    index_.clear();
  }
  /// Adds the shape, or with a range of m one for each bucket in it.
  void add(Shape shape, const std::optional<MRange>& range = {}) {
    parse_option(shape.where, [&] {
      apply(shape.workload, options_, function_);
      require_elements(shape.workload);
    });
    for (const Workload& one : range ? in_buckets(shape.workload, *range) : std::vector{shape.workload}) {
      shape.workload = one;
      add_one(shape);
    }
  }
  /// A single function applies to every problem that has none. If there are several, each problem must name its own.
  void warn_of_unused_functions() const {
    for (const FunctionSource& one : options_.functions) {
      const bool is_used = std::ranges::any_of(sets_, [&](const auto& set) {
        return std::ranges::any_of(set.second,
                                   [&](const Shape& s) { return s.workload.epilogue.function == one.function(); });
      });
      if (is_used || sets_.empty()) continue;
      print_err("hotgemm: no problem of --shape and --shapes names the function of {}: epilogue=function:{}\n",
                one.name(), to_string(one.function()));
    }
  }
  /// A problem in two sets is there twice.
  const std::vector<std::pair<std::string, std::vector<Shape>>>& sets() const { return sets_; }

 private:
  void add_one(const Shape& shape) {
    std::vector<Shape>& shapes = sets_.back().second;
    const auto [place, is_new] = index_.try_emplace(to_string(shape.workload), shapes.size());
    if (is_new) {
      shapes.push_back(shape);
    } else {
      shapes[place->second].count += shape.count;
    }
  }

  const ProblemOptions& options_;
  std::optional<EpilogueFunction> function_;
  std::vector<std::pair<std::string, std::vector<Shape>>> sets_;
  std::map<std::string, std::size_t> index_;  // of the last set, by text
};

std::string set_name(const std::string& file) {
  if (file == "-") return "stdin";
  const std::filesystem::path path = file;
  return (path.has_filename() ? path : path.parent_path()).stem().string();
}

/// --layout and --dtype complete sizes. Whole problems and the lines of files have their own.
void require_sizes(const ProblemOptions& options) {
  if (std::ranges::any_of(options.shapes, is_sizes)) return;
  for (const auto& [name, words] : {std::pair("--layout", &options.layouts), std::pair("--dtype", &options.dtypes)}) {
    if (words->empty()) continue;
    throw Error(ErrorCode::invalid_argument,
                std::string(name) + " is for --shape MxNxK; a whole problem and the lines of a file say their own");
  }
}

Sizes sizes_of(const std::string& text) {
  try {
    return parse_sizes(text);
  } catch (const Error& error) {
    const bool has_mark = text.find_first_of("xX") != std::string::npos;
    throw Error(error.code(), std::string(error.what()) + (has_mark ? "" : "; a whole problem stands in quotes"));
  }
}

ShapeSets read_shape_sets(const ProblemOptions& options) {
  require_sizes(options);
  ShapeSets sets(options);
  using Words = std::vector<std::string>;
  const auto add_sizes = [&](const Sizes& sizes, const std::optional<MRange>& range) {
    for (const std::string& layout : options.layouts.empty() ? Words{"nn"} : options.layouts) {
      for (const std::string& dtype : options.dtypes.empty() ? Words{"f16"} : options.dtypes) {
        Problem problem{.m = sizes.m, .n = sizes.n, .k = sizes.k};
        std::tie(problem.op_a, problem.op_b) = parse_layout(layout);
        problem.types = parse_types(dtype);
        sets.add({.workload = Workload(problem)}, range);
      }
    }
  };
  if (!options.shapes.empty()) sets.begin("--shape");
  for (const std::string& shape : options.shapes) {
    if (!is_sizes(shape)) {
      const RangedText ranged = split_m_range(shape);
      sets.add({.workload = parse_workload(ranged.text)}, ranged.range);
      continue;
    }
    for (const std::string& part : CLI::detail::split(shape, ',')) {
      const RangedText ranged = split_m_range(part);
      add_sizes(sizes_of(ranged.text), ranged.range);
    }
  }
  for (const std::string& file : options.shape_files) {
    sets.begin(set_name(file));
    for (const Shape& shape : load_file(file)) sets.add(shape);
  }
  sets.warn_of_unused_functions();
  return sets;
}

}  // namespace

std::vector<ProblemSet> read_problem_sets(const ProblemOptions& options) {
  const ShapeSets shape_sets = read_shape_sets(options);
  std::vector<ProblemSet> sets;
  for (const auto& [name, shapes] : shape_sets.sets()) {
    sets.push_back({name, {}});
    for (const Shape& shape : shapes) sets.back().problems.push_back(shape.workload);
  }
  return sets;
}

std::vector<Shape> read_shapes(const ProblemOptions& options) {
  const ShapeSets shape_sets = read_shape_sets(options);
  std::vector<Shape> result;
  std::map<std::string, std::size_t> index;
  for (const auto& [name, shapes] : shape_sets.sets()) {
    for (const Shape& shape : shapes) {
      const auto [place, is_new] = index.try_emplace(to_string(shape.workload), result.size());
      if (is_new) {
        result.push_back(shape);
      } else {
        result[place->second].count += shape.count;
      }
    }
  }
  return result;
}

std::vector<Workload> problems_of(const std::vector<ProblemSet>& sets) {
  std::vector<Workload> problems;
  for (const ProblemSet& set : sets) {
    for (const Workload& problem : set.problems) {
      if (std::ranges::find(problems, problem) == problems.end()) problems.push_back(problem);
    }
  }
  return problems;
}

std::vector<Workload> read_problems(const ProblemOptions& options) { return problems_of(read_problem_sets(options)); }

std::vector<Workload> require_problems(const ProblemOptions& options) {
  std::vector<Workload> problems = read_problems(options);
  require(problems);
  return problems;
}

void add_functions(const ProblemOptions& options, TemplateBundle& bundle) {
  for (const FunctionSource& function : options.functions) bundle.add(function);
}

void require(const std::vector<Workload>& problems) {
  if (!problems.empty()) return;
  throw Error(ErrorCode::invalid_argument, "no problem given; use --shape MxNxK or --shapes FILE");
}

std::string label(const Workload& p) {
  if (p.hints == packed_hints(p)) return to_string(static_cast<const Problem&>(p));
  Workload without_beta = p;
  without_beta.hints.beta_is_zero = true;
  const bool is_packed = without_beta.hints == packed_hints(p);
  return is_packed ? to_string(static_cast<const Problem&>(p)) + " beta=1" : to_string(p);
}

double tflops(const Workload& p, double us) { return 1e-6 * flops(p) / us; }
double timed_tflops(const Workload& p, double us) { return 1e-6 * timed_flops(p) / us; }

}  // namespace hotgemm::command
