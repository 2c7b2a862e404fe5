#include "config/repack.hpp"

#include "config/traits.hpp"
#include "config/workspace.hpp"
#include "shared/repack_args.hpp"

namespace hotgemm {
namespace {

constexpr int kRowBytes = 16;  // rows begin at multiples of it

}  // namespace

LaunchConfig with_repacks(LaunchConfig launch, const KernelConfig& config, const Workload& problem) {
  const bool needs = family_of(config).needs_aligned_rows && !loads_by_threads(config) &&
                     size_bytes(problem.types.a) == kRepackElementBytes;
  launch.repack_a = needs && problem.hints.align_a < kRowBytes;
  launch.repack_b = needs && problem.hints.align_b < kRowBytes;
  return launch;
}

Workload repacked(const Workload& problem, const LaunchConfig& launch) {
  Workload seen = problem;
  if (launch.repack_a) seen.hints.align_a = kRowBytes;
  if (launch.repack_b) seen.hints.align_b = kRowBytes;
  return seen;
}

Workload repacked(const Workload& problem, const KernelConfig& config) {
  return repacked(problem, with_repacks({}, config, problem));
}

GemmTraits traits_of(const Workload& problem, const LaunchConfig& launch) {
  return traits_of(repacked(problem, launch));
}

std::size_t repacked_bytes(const StoredShape& shape) {
  constexpr std::size_t kUnit = WorkspaceSize::kAlignment;
  const auto elements = static_cast<std::size_t>(shape.rows) * static_cast<std::size_t>(repacked_ld(shape.cols));
  return (elements * kRepackElementBytes + kUnit - 1) / kUnit * kUnit;
}

std::size_t repacked_bytes(const LaunchConfig& launch, const Problem& p) {
  std::size_t bytes = 0;
  if (launch.repack_a) bytes += repacked_bytes(stored_a(p.m, p.k, p.op_a == Op::n));
  if (launch.repack_b) bytes += repacked_bytes(stored_b(p.n, p.k, p.op_b == Op::t));
  return bytes;
}

}  // namespace hotgemm
