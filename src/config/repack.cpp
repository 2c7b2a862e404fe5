#include "config/repack.hpp"

#include "config/traits.hpp"
#include "config/workspace.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>

namespace hotgemm {
namespace {

constexpr int kRowBytes = 16;  // rows of copies begin at multiples of it

constexpr std::int64_t kMostMatrices = std::int64_t{1} << 20;  // the kernel counts tiles and parts of all by 32 bits
constexpr std::size_t kMostBytes = std::numeric_limits<std::int64_t>::max() / WorkspaceSize::kAlignment *
                                   WorkspaceSize::kAlignment;  // more than any memory has

/// True if an operand with rows of `extent` elements along m or n is copied as its transpose, because the rows are
/// shorter than a line: of the rows as they are stored, every block would ask L2 for one for each k, and all blocks for
/// the same lines. The products of a batch have lines of their own. Other elements than those of 16 bits were not
/// timed.
bool is_narrow(const Problem& problem, std::int64_t extent, DType element) {
  return problem.batch == 1 && size_bytes(element) == 2 && extent * size_bytes(element) < kRepackLineBytes;
}

/// True if the operands can be copied. Groups say on the device which rows they have, and pointers where their matrices
/// are.
bool can_copy(const Problem& problem) {
  return problem.groups == 0 && problem.batch_kind == BatchKind::strided && problem.batch <= kMostMatrices;
}

}  // namespace

LaunchConfig with_repacks(LaunchConfig launch, const KernelConfig& config, const Workload& problem) {
  launch.repack_a = launch.repack_b = Repack::none;
  if (!can_copy(problem)) return launch;
  const auto way = [&](Operand operand, DType element, bool is_k_major, int align, std::int64_t extent) {
    const OperandForm form =
        operand_form(config, multiplied_type(element, problem.types.compute), operand, problem.epilogue);
    if (form.is_k_major && !is_k_major) return Repack::transposed;
    if (align >= form.alignment) return Repack::none;
    return !is_k_major && is_narrow(problem, extent, element) ? Repack::transposed : Repack::aligned;
  };
  // All problems of a class have the same copies.
  const std::int64_t m = class_m(problem.m);
  launch.repack_a = way(Operand::a, problem.types.a, problem.op_a == Op::n, problem.hints.align_a, m);
  launch.repack_b = way(Operand::b, problem.types.b, problem.op_b == Op::t, problem.hints.align_b, problem.n);
  return launch;
}

Workload repacked(const Workload& problem, const LaunchConfig& launch) {
  Workload seen = problem;
  if (launch.repack_a != Repack::none) seen.hints.align_a = kRowBytes;
  if (launch.repack_b != Repack::none) seen.hints.align_b = kRowBytes;
  if (launch.repack_a == Repack::transposed) seen.op_a = Op::n;
  if (launch.repack_b == Repack::transposed) seen.op_b = Op::t;
  return seen;
}

Workload repacked(const Workload& problem, const KernelConfig& config) {
  return repacked(problem, with_repacks({}, config, problem));
}

GemmTraits traits_of(const Workload& problem, const LaunchConfig& launch) {
  return traits_of(repacked(problem, launch));
}

std::size_t repacked_bytes(const OperandCopy& copy) {
  constexpr std::size_t kUnit = WorkspaceSize::kAlignment;
  const auto pitch = static_cast<std::size_t>(repacked_pitch(copy.row_bytes()));
  std::size_t rows = 0, bytes = 0;
  const bool is_too_large = __builtin_mul_overflow(copy.products, copy.shape.rows, &rows) ||
                            __builtin_mul_overflow(rows, pitch, &bytes) || bytes > kMostBytes;
  return is_too_large ? kMostBytes : (bytes + kUnit - 1) / kUnit * kUnit;
}

std::size_t repacked_bytes(const LaunchConfig& launch, const Problem& p) {
  std::size_t bytes = 0;
  const auto add = [&](Repack copy, const StoredShape& shape, DType element) {
    if (copy == Repack::none) return;
    bytes += repacked_bytes({.shape = shape, .element_bytes = size_bytes(element), .products = p.batch});
    bytes = std::min(bytes, kMostBytes);
  };
  add(launch.repack_a, stored_a(p.m, p.k, p.op_a == Op::n || launch.repack_a == Repack::transposed), p.types.a);
  add(launch.repack_b, stored_b(p.n, p.k, p.op_b == Op::t || launch.repack_b == Repack::transposed), p.types.b);
  return bytes;
}

}  // namespace hotgemm
