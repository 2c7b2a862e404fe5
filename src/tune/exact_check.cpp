#include "tune/exact_check.hpp"

namespace hotgemm {

std::string check_exactly(const CheckKernels& checks, const Workload& problem, const OperandPool& pool, unsigned seed,
                          CUstream stream, const LaunchOnSet& launch) {
  const OperandSet& set = pool.sets().front();
  checks.fill_check(problem, set, seed, stream);
  const std::uint64_t before = checks.digest(problem, pool, set, stream);
  launch(set, stream);
  const std::string wrong = checks.check(problem, set, seed, 1, problem.hints.beta_is_zero ? 0 : 1, stream);
  if (!wrong.empty()) return "wrong: " + wrong;
  const bool is_intact = checks.digest(problem, pool, set, stream) == before;
  return is_intact ? std::string() : "stray write: memory outside of D has changed";
}

}  // namespace hotgemm
