#pragma once

#include "tune/candidate.hpp"

#include <hotgemm/error.hpp>

#include <span>

namespace hotgemm {

/// The error of a search in which no candidate survived, with the reason of each: wrong_result if one of them was
/// wrong, else driver_error if one was built, else compile_failed.
Error without_survivor(std::span<const Candidate> rows, const Workload& problem);

}  // namespace hotgemm
