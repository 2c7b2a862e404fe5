#pragma once

#include "records/attempt_mark.hpp"
#include "runtime/engine.hpp"
#include "tune/measurer.hpp"

#include <map>
#include <span>
#include <string>
#include <vector>

namespace hotgemm {

/// Measures in the process of a user, which a bad kernel may end. Before the first launch of a kernel that is not
/// vetted, a mark is on disk that names it; the mark goes when the kernel has run. If the CUDA context is lost while it
/// runs, it is remembered as rejected before Error{context_lost} is thrown on. If no mark can be written, only vetted
/// kernels run; the others get the verdict "not vetted: …".
class GuardedMeasurer final : public Measurer {
 public:
  /// Keeps references to `inner`, which runs the trials, and `engine`. Trials are those of `candidates`.
  GuardedMeasurer(Measurer& inner, Engine& engine, const Workload& problem, std::span<const Candidate> candidates);

  const GpuFacts& gpu() const override { return inner_.gpu(); }
  void begin(const Workload& problem, const MeasureOptions& options) override { inner_.begin(problem, options); }
  std::vector<Verdict> check(std::span<const Trial> trials, unsigned seed) override;
  /// Throws Error{io_error} if the mark of the trials cannot be written.
  RaceResult race(std::span<const Trial> trials, const RaceOptions& options, bool with_baseline) override;
  CublasComparison compare_with_cublas(const Trial& pick, const CublasQuestion& question) override {
    return inner_.compare_with_cublas(pick, question);
  }
  void end() override { inner_.end(); }
  std::string baseline() const override { return inner_.baseline(); }

 private:
  bool is_vetted(const Trial& trial) const;
  RejectionRecord rejection(const Trial& trial, Stage stage, std::string reason) const;
  /// Marks the trials that are not vetted, in place of the last ones.
  void mark(std::span<const Trial> trials, Stage stage);
  void blame(std::span<const Trial> trials, Stage stage, const Error& error);

  Measurer& inner_;
  Engine& engine_;
  std::string problem_;
  std::map<std::string, std::string> identities_;  // by symbol
  AttemptMark mark_;
};

/// True if the kernel of `cubin` has passed a check and a race on the GPU model and with the driver of `where`.
bool is_vetted(const Engine& engine, const Cubin& cubin, const Environment& where);

/// Makes the kernels with which other processes have ended rejections of `engine`.
void reject_what_ended_processes(Engine& engine);

}  // namespace hotgemm
