#include "tune/record_comparison.hpp"

#include "tune/bench.hpp"

#include <hotgemm/error.hpp>

namespace hotgemm {
CublasComparison compared_with_default(Measurer& measurer, const Workload& problem, const TuningRecord& record,
                                       const Candidate& pick, const MeasureOptions& options) {
  if (!pick.cubin) throw Error(ErrorCode::not_supported, pick.reason);
  const Trial trial{pick.config, pick.launch, pick.cubin};
  measurer.begin(problem, options);
  const Verdict verdict = measurer.check({&trial, 1}, static_cast<unsigned>(options.seed + 1)).front();
  if (!verdict.is_sound()) {
    throw Error(ErrorCode::wrong_result, "the recorded " + to_string(pick.config) + " is not sound: " + verdict.reason);
  }
  const CublasQuestion question{.mode = record.timing.median_us < kGraphBelowUs ? TimingMode::graph : TimingMode::eager,
                                .measure = record.measure,
                                .objective = record.objective,
                                .scope = CublasScope::default_only};
  CublasComparison comparison = measurer.compare_with_cublas(trial, question);
  measurer.end();  // after an exception the next begin does it
  return comparison;
}

}  // namespace hotgemm
