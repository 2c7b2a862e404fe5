#pragma once

#include <hotgemm/problem.hpp>

#include <nlohmann/json_fwd.hpp>

#include <string>

// The problem of a tuning record: the text of its class, and the sizes that were measured, which the class rounds.

namespace hotgemm {

/// `problem` with m, and the sizes of batches and groups, replaced by their buckets, but by no more than the largest
/// size that parse_workload accepts. A prepacked operand is one of alignment class 16, as in the class key. Of the
/// epilogue it has what is measured.
Workload class_of(const Workload& problem);

/// The text of the problem's class; of a problem with nothing to measure, its own.
std::string class_text(const Workload& problem);

/// The measured sizes, each after a comma: "m" always, "batch" and "groups" where they differ from the class's.
std::string measured_sizes_text(const Workload& problem);

/// The problem of the fields "class" and those of measured_sizes_text. Throws Reject.
Workload problem_fields(const nlohmann::json& json);

}  // namespace hotgemm
