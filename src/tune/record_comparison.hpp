#pragma once

#include "records/tuning_record.hpp"
#include "tune/candidate.hpp"
#include "tune/measurer.hpp"

namespace hotgemm {

/// Measures the kernel of `record`, which `pick` has, against cuBLAS's default on `problem`. Throws
/// Error{not_supported} if there is no kernel or cuBLAS cannot run, Error{wrong_result} if the kernel fails its check.
CublasComparison compared_with_default(Measurer& measurer, const Workload& problem, const TuningRecord& record,
                                       const Candidate& pick, const MeasureOptions& options);

}  // namespace hotgemm
