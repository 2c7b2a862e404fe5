#include "command/problem_options.hpp"

#include "base/text.hpp"
#include "config/problem_text.hpp"
#include "config/shapes.hpp"
#include "runtime/validate.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iostream>
#include <iterator>
#include <tuple>

namespace hotgemm::command {
namespace {

struct Alignment {
  int a = 16;
  int b = 16;
  int d = 16;
};

[[noreturn]] void bad_alignment(const std::string& text) {
  throw Error(
      ErrorCode::invalid_argument,
      "--align " + in_quotes(text) + ": expected packed, or 2, 4, 8 or 16 bytes for all, or three such as 16,8,2");
}

Alignment parse_alignment(const std::string& text) {
  std::vector<int> values;
  for (const std::string& word : CLI::detail::split(text, ',')) {
    int value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    if (error != std::errc() || end != word.data() + word.size()) bad_alignment(text);
    if (value != 2 && value != 4 && value != 8 && value != 16) bad_alignment(text);
    values.push_back(value);
  }
  if (values.size() == 1) return {values[0], values[0], values[0]};
  if (values.size() != 3) bad_alignment(text);
  return {values[0], values[1], values[2]};
}

std::vector<Problem> load_file(const std::string& name) {
  try {
    std::vector<Problem> problems;
    if (name == "-") {
      const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
      problems = parse_shapes(text, "stdin");
    } else {
      problems = load_shapes(name);
    }
    if (problems.empty()) throw Error(ErrorCode::invalid_argument, "the shape file " + name + " contains no problem");
    return problems;
  } catch (const Error& error) {
    throw Error(ErrorCode::invalid_argument, error.what());
  }
}

void apply(Problem& problem, const ProblemOptions& options, DefaultAlignment alignment) {
  if (!options.accumulator.empty()) problem.accumulator = parse_dtype(options.accumulator);
  if (options.beta >= 0) problem.beta_is_zero = options.beta == 0;
  const bool is_packed =
      options.alignment == "packed" || (options.alignment.empty() && alignment == DefaultAlignment::packed);
  if (is_packed) {
    problem = with_packed_alignment(problem);
  } else {
    const Alignment a = options.alignment.empty() ? Alignment{} : parse_alignment(options.alignment);
    problem.align_a = a.a;
    problem.align_b = a.b;
    problem.align_d = a.d;
  }
  validate(problem);
}

}  // namespace

void add_problem_options(CLI::App& app, ProblemOptions& options, DefaultAlignment alignment) {
  app.add_option("--shape", options.shapes, "MxNxK, as in 4096x4096x512; may be repeated")->delimiter(',');
  app.add_option("--shapes", options.shape_files,
                 "a file of problems with one `m n k layout dtype` per line; - is stdin");
  app.add_option("--layout", options.layouts, "layout for --shape: nn (default), nt, tn, tt, or several: nn,nt")
      ->delimiter(',');
  app.add_option("--dtype", options.dtypes, "element type for --shape: f16 (default), bf16, f32, or several: f16,bf16")
      ->delimiter(',');
  app.add_option("--acc", options.accumulator, "accumulate in f32 (default) or f16")
      ->check(CLI::IsMember({"f32", "f16"}));
  const std::string usual = alignment == DefaultAlignment::packed ? "packed" : "16";
  app.add_option(
      "--align", options.alignment,
      "alignment of addresses and rows in bytes: one number, or three for A,B,D, or packed: the alignment of rows "
      "without padding (default " +
          usual + ")");
  app.add_option("--beta", options.beta, "1: C is read, 0 (default): C is not read")->check(CLI::IsMember({0, 1}));
}

std::vector<Problem> read_problems(const ProblemOptions& options, DefaultAlignment alignment) {
  std::vector<Problem> problems;
  const auto add = [&](Problem problem) {
    apply(problem, options, alignment);
    if (std::ranges::find(problems, problem) == problems.end()) problems.push_back(problem);
  };
  using Words = std::vector<std::string>;
  for (const std::string& shape : options.shapes) {
    for (const std::string& layout : options.layouts.empty() ? Words{"nn"} : options.layouts) {
      for (const std::string& dtype : options.dtypes.empty() ? Words{"f16"} : options.dtypes) {
        Problem problem = parse_shape(shape);
        std::tie(problem.op_a, problem.op_b) = parse_layout(layout);
        problem.dtype = parse_dtype(dtype);
        add(problem);
      }
    }
  }
  for (const std::string& file : options.shape_files) {
    for (const Problem& problem : load_file(file)) add(problem);
  }
  return problems;
}

std::vector<Problem> require_problems(const ProblemOptions& options, DefaultAlignment alignment) {
  std::vector<Problem> problems = read_problems(options, alignment);
  if (problems.empty()) {
    throw Error(ErrorCode::invalid_argument, "no problem given; use --shape MxNxK or --shapes FILE");
  }
  return problems;
}

std::string label(const Problem& p) {
  std::string text =
      fmt::format("{}x{}x{} {}{} {}", p.m, p.n, p.k, to_string(p.op_a), to_string(p.op_b), to_string(p.dtype));
  if (p.accumulator != DType::f32) text += fmt::format(" acc {}", to_string(p.accumulator));
  if (p.align_a != 16 || p.align_b != 16 || p.align_d != 16) {
    text += fmt::format(" align {},{},{}", p.align_a, p.align_b, p.align_d);
  }
  if (!p.beta_is_zero) text += " beta";
  return text;
}

double tflops(const Problem& p, double us) {
  return 2e-6 * static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k) / us;
}

}  // namespace hotgemm::command
