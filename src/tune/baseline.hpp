#pragma once

#include "gpu/cublas.hpp"
#include "gpu/stopwatch.hpp"
#include "records/cublas_choices.hpp"

#include <hotgemm/types.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hotgemm {

/// The contenders that our kernel is compared with. One of them may be missing, but not both.
struct Baseline {
  std::optional<Contender> cublas_default;
  std::optional<CublasContender> best_lt;
  bool lt_is_faster = false;
  std::int64_t kept_since = 0;  ///< when the choice was made that was kept; 0: made now

  const Contender& faster() const { return lt_is_faster ? best_lt->contender : *cublas_default; }
};

/// The store of earlier choices, which takes new ones too.
struct KeptChoices {
  CublasChoices* choices = nullptr;  ///< null: every choice is made now, and is not kept
  std::string gpu;                   ///< model
  bool afresh = false;               ///< earlier choices are not used
};

/// The indices of the contenders that were timed, fastest first.
std::vector<std::size_t> ranking(const RaceResult& result);

/// Chooses the baseline for one problem among cuBLAS's default and all algorithms that cuBLASLt's heuristics return: a
/// race in rounds leaves few of them, and a race by the measure in question decides. A choice that was kept for this
/// measure is used instead. The arguments must outlive it.
class BaselineChooser {
 public:
  BaselineChooser(const Driver& driver, CUstream stream, CublasBaseline& cublas, const Workload& problem,
                  std::span<const OperandSet> sets, float alpha, float beta, KeptChoices kept);

  const Contender& cublas_default() const { return default_; }
  /// cuBLAS's default as the baseline, without a race.
  Baseline default_alone() const { return {.cublas_default = default_}; }
  /// The number of cuBLASLt's algorithms that were raced; 0 as long as kept choices were enough.
  int tried() const { return all_.empty() ? 0 : static_cast<int>(all_.size()) - 1; }

  /// The baseline by rounds in the mode of `options`, behind its foreign kernel if it has one. Throws
  /// Error{not_supported} if none runs.
  Baseline by_rounds(const RaceOptions& options);
  /// The baseline by a block of each of the few fastest and of cuBLAS's default. The GPU works for `load_s` first.
  /// Throws as by_rounds does.
  Baseline by_blocks(const RaceOptions& options, double load_s);
  /// From now on earlier choices are not used: one of them could not run.
  void distrust_kept() { kept_.afresh = true; }

 private:
  CublasChoiceKey key_of(Measure measure, TimingMode mode) const;
  std::optional<Baseline> kept_for(const CublasChoiceKey& key);
  Baseline keep(const CublasChoiceKey& key, Baseline baseline);
  /// The indices in all_ that are worth a longer measurement, found once: the fastest few of a short race in rounds,
  /// fastest first, and then cuBLAS's default, even if it is slow.
  const std::vector<std::size_t>& finalists(const RaceOptions& options);
  RaceResult race_of(const std::vector<std::size_t>& indices, const RaceOptions& options) const;
  Baseline baseline_of(const RaceResult& raced, const std::vector<std::size_t>& indices) const;

  const Driver& driver_;
  CUstream stream_;
  CublasBaseline& cublas_;
  Workload problem_;  // uniform groups are a batch
  std::span<const OperandSet> sets_;
  float alpha_;
  float beta_;
  KeptChoices kept_;
  Contender default_;
  std::vector<CublasContender> all_;  // cuBLAS's default first; empty before it is needed
  std::vector<std::size_t> finalists_;
};

}  // namespace hotgemm
