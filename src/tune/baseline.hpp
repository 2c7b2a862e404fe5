#pragma once

#include "gpu/cublas.hpp"
#include "gpu/stopwatch.hpp"

#include <hotgemm/types.hpp>

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace hotgemm {

/// The contenders that our kernel is compared with. One of them may be missing, but not both.
struct Baseline {
  std::optional<Contender> cublas_default;
  std::optional<Contender> best_lt;
  bool lt_is_faster = false;

  const Contender& faster() const { return lt_is_faster ? *best_lt : *cublas_default; }
};

/// cuBLAS's default, then the algorithms that cuBLASLt's heuristics return.
std::vector<Contender> all_of_cublas(CublasBaseline& cublas, const Workload& problem, std::span<const OperandSet> sets,
                                     float alpha, float beta);

/// The indices of the contenders that were timed, fastest first.
std::vector<std::size_t> ranking(const RaceResult& result);

/// The indices in `all` that are worth a longer measurement: the fastest few of a short race in rounds, fastest first,
/// and then cuBLAS's default, with which `all` begins, even if it is slow. Throws Error{not_supported} if none runs.
std::vector<std::size_t> screen(const Driver& driver, CUstream stream, const std::vector<Contender>& all,
                                const RaceOptions& options);

/// The baseline by a race in rounds of the contenders `finalists` of `all`. Throws Error{not_supported} if none runs.
Baseline baseline_by_rounds(const Driver& driver, CUstream stream, const std::vector<Contender>& all,
                            const std::vector<std::size_t>& finalists, const RaceOptions& options);

/// The baseline by a block of each of the first `finalists` and of the last one. The GPU works for `load_s` first.
/// Throws Error{not_supported} if none runs.
Baseline baseline_by_blocks(const Driver& driver, CUstream stream, const std::vector<Contender>& all,
                            const std::vector<std::size_t>& finalists, const RaceOptions& options, double load_s);

}  // namespace hotgemm
