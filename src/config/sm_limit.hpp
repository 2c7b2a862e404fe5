#pragma once

#include <hotgemm/problem.hpp>

namespace hotgemm {

/// The largest SM limit of a problem.
inline constexpr int kMostSms = 65535;

/// True if `sm_limit`, the SM limit of a problem, leaves out SMs of a GPU with `sm_count`. 0 is no limit.
constexpr bool leaves_out_sms(int sm_limit, int sm_count) { return sm_limit > 0 && sm_limit < sm_count; }

/// `problem` without its SM limit if that leaves out no SM of a GPU with `sm_count`: the two are planned alike.
inline Workload without_idle_limit(const Workload& problem, int sm_count) {
  Workload same = problem;
  if (!leaves_out_sms(problem.sm_limit, sm_count)) same.sm_limit = 0;
  return same;
}

}  // namespace hotgemm
