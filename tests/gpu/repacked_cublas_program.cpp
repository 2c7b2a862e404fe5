// repacked_cublas_program FILE: would cuBLAS behind our repack kernel be faster than our kernels?
//
// For each problem of FILE whose rows or addresses tensor copies cannot read: our kernel as tuned (HOTGEMM_CACHE_DIR),
// raced against our repack kernel followed by the fastest of cuBLAS on the aligned copies. cuBLAS computes the problem
// with m, n and k rounded up to multiples of 8, and writes an aligned D that nobody copies back: otherwise it has no
// fast kernel. So its time is a bound, and its result is not used.
// Times are those of graph replay below 60 µs, and of rounds behind a foreign kernel if ours is launched
// programmatically. Prints the times and the ratio, one problem a line, and the geometric mean.

#include "base/statistics.hpp"
#include "config/repack.hpp"
#include "config/shapes.hpp"
#include "context_impl.hpp"
#include "gpu/check_kernels.hpp"
#include "gpu/foreign_kernel.hpp"
#include "gpu/operand_pool.hpp"
#include "gpu/stream.hpp"
#include "runtime/plan_impl.hpp"
#include "shared/repack_args.hpp"
#include "tune/bench.hpp"

#include <hotgemm/hotgemm.hpp>

#include <cmath>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <vector>

namespace hotgemm {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{16} << 30;
constexpr int kReportedRounds = 9;
constexpr std::size_t kFinalists = 4;
constexpr double kHostLimitsBelowUs = 60;  // three launches, and the foreign one

/// `problem` with sizes, rows and addresses for which cuBLAS has all of its kernels.
Workload aligned(Workload problem) {
  for (std::int64_t* size : {&problem.m, &problem.n, &problem.k}) *size = (*size + 7) / 8 * 8;
  problem.hints.align_a = problem.hints.align_b = problem.hints.align_d = 16;
  return problem;
}

/// The operands of a problem, as they are and with copies that cuBLAS reads quickly.
class CopiedOperands {
 public:
  CopiedOperands(const Driver& driver, DeviceState& state, const Workload& problem, const LaunchConfig& repacks)
      : driver_(driver),
        kernel_(state.repack_kernel()),
        problem_(hotgemm::aligned(problem)),
        pool_(driver, problem, state.info().l2_bytes, kMaxBytes),
        copies_memory_(driver, repacked_bytes(repacks, problem_)),
        d_(driver, static_cast<std::size_t>(problem_.m * problem_.n * size_bytes(problem_.types.d))) {
    driver.check(driver.cuMemsetD32Async(copies_memory_.get(), 0, copies_memory_.bytes() / 4, nullptr), "clear copies");
    const bool a_is_k_major = problem.op_a == Op::n, b_is_k_major = problem.op_b == Op::t;
    const Copied a{stored_a(problem.m, problem.k, a_is_k_major), stored_a(problem_.m, problem_.k, a_is_k_major)};
    const Copied b{stored_b(problem.n, problem.k, b_is_k_major), stored_b(problem_.n, problem_.k, b_is_k_major)};
    for (const OperandSet& set : pool_.sets()) {
      OperandSet aligned = set;
      RepackArgs copies;
      CUdeviceptr to = copies_memory_.get();
      if (repacks.repack_a != Repack::none) copies.first = place(a, aligned.a, aligned.lda, to);
      if (repacks.repack_b != Repack::none) copies.second = place(b, aligned.b, aligned.ldb, to);
      aligned.c = aligned.d = d_.get();
      aligned.ldc = aligned.ldd = problem_.n;
      aligned_.push_back(aligned);
      copies_.push_back(copies);
    }
  }

  /// The problem that cuBLAS computes.
  const Workload& problem() const { return problem_; }
  const std::vector<OperandSet>& sets() const { return pool_.sets(); }
  const std::vector<OperandSet>& aligned() const { return aligned_; }
  void copy(CUstream stream, int set) const {
    driver_.check(launch_repack(driver_, *kernel_, copies_[static_cast<std::size_t>(set)], true, stream), "repack");
  }

 private:
  /// An operand as it is stored, and as it is stored if sizes are rounded up.
  struct Copied {
    StoredShape shape;
    StoredShape rounded;
  };

  /// The arguments for the copy of `operand` to `to`, both of which are advanced: the copy takes the operand's place.
  static RepackMatrix place(const Copied& copied, CUdeviceptr& operand, std::int64_t& ld, CUdeviceptr& to) {
    const OperandCopy copy{.shape = copied.shape, .element_bytes = 2};
    const RepackMatrix matrix = repack_matrix(copy, reinterpret_cast<const void*>(operand), ld, to);
    operand = to;
    ld = copy.ld();
    to += repacked_bytes({.shape = copied.rounded, .element_bytes = 2});
    return matrix;
  }

  const Driver& driver_;
  std::shared_ptr<const RepackKernel> kernel_;
  Workload problem_;
  OperandPool pool_;
  DeviceBuffer copies_memory_, d_;
  std::vector<OperandSet> aligned_;
  std::vector<RepackArgs> copies_;
};

/// Our kernel, followed by cuBLAS's default and all algorithms of cuBLASLt, each behind the copies.
std::vector<Contender> contenders_of(const Plan& plan, const CopiedOperands& operands, CublasBaseline& cublas) {
  std::vector<Contender> contenders{{"hotgemm", [&](CUstream stream, int set) {
                                       const OperandSet& o = operands.sets()[static_cast<std::size_t>(set)];
                                       plan.launch(stream, OperandPool::operands(o, 1, 0));
                                     }}};
  const auto behind_copies = [&](const Contender& one) {
    contenders.push_back({one.name, [&operands, launch = one.launch](CUstream stream, int set) {
                            operands.copy(stream, set);
                            launch(stream, set);
                          }});
  };
  const Workload& problem = operands.problem();
  behind_copies(cublas.default_gemm(problem, operands.aligned(), 1, 0));
  for (const CublasContender& one : cublas.lt_heuristics(problem, operands.aligned(), 1, 0)) {
    behind_copies(one.contender);
  }
  return contenders;
}

/// Our kernel and the few fastest of the others, which are raced without ours: a race drops what is much slower.
std::vector<Contender> finalists(const Driver& driver, CUstream stream, const std::vector<Contender>& all,
                                 RaceOptions options) {
  options.rounds = 3;
  options.abandon_ratio = 1.35;
  const std::span<const Contender> others = std::span(all).subspan(1);
  const RaceResult screened = race(driver, stream, others, options);
  std::vector<Contender> few{all.front()};
  for (const std::size_t i : ranking(screened)) {
    if (few.size() <= kFinalists) few.push_back(others[i]);
  }
  if (few.size() == 1) throw Error(ErrorCode::not_supported, "cuBLAS could not run: " + screened.failures.front());
  return few;
}

/// The ratio of the time of repacked cuBLAS to ours; NaN if no operand is repacked.
double measure(const Driver& driver, Context& context, const Workload& problem, CUstream stream,
               CublasBaseline& cublas) {
  DeviceState& state = impl_of(context).current();
  const LaunchConfig repacks = with_repacks({}, WgmmaConfig{}, problem);
  if (!hotgemm::repacks(repacks)) return std::nan("");
  const Plan plan = context.plan(problem);
  const CopiedOperands operands(driver, state, problem, repacks);
  for (const OperandSet& set : operands.sets()) state.check_kernels().fill_normal(problem, set, 1, stream);
  RaceOptions options{.sets = static_cast<int>(operands.sets().size()), .rounds = kReportedRounds, .round_us = 1500};
  std::optional<ForeignKernel> foreign;
  if (PlanAccess::impl(plan).choice().launch.programmatic) {
    foreign.emplace(driver, state.check_kernels(), stream);
    options.ahead = foreign->launch();
  }
  const std::vector<Contender> all = contenders_of(plan, operands, cublas);
  std::vector<Contender> few = finalists(driver, stream, all, options);
  const RaceResult quick = race(driver, stream, std::span(few).first(1), options);
  if (median(quick.us[0]) < kHostLimitsBelowUs) {
    options.mode = TimingMode::graph;
    few = finalists(driver, stream, all, options);
  }
  const RaceResult raced = race(driver, stream, few, options);
  std::size_t best = 0;
  for (const std::size_t i : ranking(raced)) {
    if (i > 0 && best == 0) best = i;
  }
  if (best == 0) throw Error(ErrorCode::internal, to_string(problem) + ": cuBLAS ran once and not again");
  if (!raced.failures[0].empty()) throw Error(ErrorCode::internal, to_string(problem) + ": " + raced.failures[0]);
  const double ratio = median(paired_ratios(raced.us[best], raced.us[0]));
  std::printf("%-32s %-6s ours %8.2f us, repack and %-28s %8.2f us, ratio %.3f\n", to_string(problem).c_str(),
              std::string(to_string(options.mode)).c_str(), median(raced.us[0]), few[best].name.c_str(),
              median(raced.us[best]), ratio);
  std::fflush(stdout);
  return ratio;
}

int run(const std::string& file) {
  const Driver& driver = Driver::get();
  const PrimaryContext primary(driver, 0);
  ContextOptions options;
  options.policy = Policy::estimate;
  Context context(options);
  const OwnedStream stream(driver);
  CublasBaseline cublas(driver);
  std::vector<double> logarithms;
  for (const Shape& shape : load_shapes(file)) {
    const double ratio = measure(driver, context, shape.workload, stream.get(), cublas);
    if (!std::isnan(ratio)) logarithms.push_back(std::log(ratio));
  }
  if (logarithms.empty())
    throw Error(ErrorCode::invalid_argument, file + " has no problem whose operands are repacked");
  double sum = 0;
  for (const double one : logarithms) sum += one;
  std::printf("geometric mean of %zu problems: %.3f\n", logarithms.size(),
              std::exp(sum / static_cast<double>(logarithms.size())));
  return 0;
}

}  // namespace
}  // namespace hotgemm

int main(int argc, char** argv) {
  try {
    if (argc != 2) throw std::runtime_error("usage: repacked_cublas_program FILE");
    return hotgemm::run(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
