#include "records/problem_fields.hpp"

#include "config/class_key.hpp"
#include "config/max_size.hpp"
#include "config/prepacked.hpp"
#include "config/problem_text.hpp"
#include "config/work.hpp"
#include "records/sealed_line.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <cstdint>

namespace hotgemm {
namespace {

using Json = nlohmann::json;

/// A size whose class's value is in the class's text.
struct MeasuredSize {
  const char* name;
  std::int64_t Problem::*member;
  bool is_always_written;
};
constexpr MeasuredSize kMeasuredSizes[] = {
    {"m", &Problem::m, true}, {"batch", &Problem::batch, false}, {"groups", &Problem::groups, false}};

}  // namespace

Workload class_of(const Workload& problem) {
  Workload result = measured_product(as_aligned(problem));
  result.m = class_m(problem.m);
  result.batch = class_count(problem.batch);
  result.groups = class_count(problem.groups);
  return result;
}

std::string class_text(const Workload& problem) {
  return to_string(has_nothing_to_measure(problem) ? problem : class_of(problem));
}

std::string measured_sizes_text(const Workload& problem) {
  const Workload problem_class = class_of(problem);
  std::string text;
  for (const auto& [name, member, is_always_written] : kMeasuredSizes) {
    if (!is_always_written && problem.*member == problem_class.*member) continue;
    text.append(",\"").append(name).append("\":").append(std::to_string(problem.*member));
  }
  return text;
}

Workload problem_fields(const Json& json) {
  Workload problem_class;
  try {
    problem_class = parse_workload(string_field(json, "class", kMaxProblemTextBytes));
  } catch (const Error& error) {
    throw Reject{"\"class\": " + std::string(error.what())};
  }
  Workload problem = problem_class;
  for (const auto& [name, member, is_always_written] : kMeasuredSizes) {
    if (is_always_written || json.contains(name)) problem.*member = integer_field(json, name, kMaxSize);
  }
  const Workload expected = class_of(problem);
  for (const auto& [name, member, is_always_written] : kMeasuredSizes) {
    if (expected.*member == problem_class.*member) continue;
    throw Reject{std::string(name) + " = " + std::to_string(problem.*member) + " is not in the class of " +
                 std::to_string(problem_class.*member)};
  }
  return problem;
}

}  // namespace hotgemm
