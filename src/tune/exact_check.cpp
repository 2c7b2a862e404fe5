#include "tune/exact_check.hpp"

namespace hotgemm {
namespace {

// Twice an integer of up to 130 (shared/check_data.hpp) is an even number that f16 and bf16 hold exactly.
constexpr int kAlpha = 2;
constexpr int kBeta = -2;

/// Launches a second time and checks the result. Before this launch D holds the first result, or C if the problem reads
/// C. This function writes no byte outside of D's elements, so that a stray write of the first launch can still be
/// found.
std::string check_again(const CheckKernels& checks, const Workload& problem, const OperandSet& set, unsigned seed,
                        CUstream stream, const LaunchOperands& launch) {
  OperandSet used = set;
  if (!problem.hints.beta_is_zero) {
    checks.fill_check_c(problem, set.d, set.ldd, seed, stream);
    used.c = set.d;  // C and D have the same leading dimension and distances
    used.pointers.c = set.pointers.d;
  }
  const int beta = problem.hints.beta_is_zero ? 0 : kBeta;
  launch(OperandPool::operands(used, kAlpha, static_cast<float>(beta)), stream);
  const std::string wrong = checks.check(problem, set, seed, kAlpha, beta, stream);
  if (wrong.empty()) return {};
  const std::string with_alpha = "with alpha " + std::to_string(kAlpha);
  if (problem.hints.beta_is_zero) return with_alpha + ": " + wrong;
  return "in place " + with_alpha + " and beta " + std::to_string(kBeta) + ": " + wrong;
}

}  // namespace

std::string check_exactly(const CheckKernels& checks, const Workload& problem, const OperandPool& pool, unsigned seed,
                          CUstream stream, const LaunchOnSet& launch, const LaunchOperands& again) {
  const OperandSet& set = pool.sets().front();
  checks.fill_check(problem, set, seed, stream);
  const std::uint64_t before = checks.digest(problem, pool, set, stream);
  launch(set, stream);
  std::string wrong = checks.check(problem, set, seed, 1, problem.hints.beta_is_zero ? 0 : 1, stream);
  if (wrong.empty() && again) wrong = check_again(checks, problem, set, seed, stream, again);
  if (!wrong.empty()) return "wrong: " + wrong;
  const bool is_intact = checks.digest(problem, pool, set, stream) == before;
  return is_intact ? std::string() : "stray write: memory outside of D has changed";
}

}  // namespace hotgemm
