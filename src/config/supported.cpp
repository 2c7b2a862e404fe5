#include "config/supported.hpp"

#include "config/prepacked.hpp"
#include "config/problem_enums.hpp"
#include "config/sm_limit.hpp"

#include <hotgemm/error.hpp>

namespace hotgemm {
namespace {

/// True if kernels multiply matrices of this type.
bool has_kernels(DType type) {
  switch (type) {
    case DType::f16:
    case DType::bf16:
    case DType::f32: return true;
    case DType::e4m3:
    case DType::e5m2:
    case DType::s8:
    case DType::s32: return false;
  }
  return false;
}

/// True if kernels sum elements of `element`, a type that has kernels, in `compute`.
bool has_sums(ComputeType compute, DType element) {
  switch (compute) {
    case ComputeType::f32: return true;
    case ComputeType::f16: return element == DType::f16;
    case ComputeType::tf32:
    case ComputeType::s32: return false;
  }
  return false;
}

bool are_supported(const Types& t) noexcept {
  const bool is_uniform = t.a == t.b && t.a == t.c && t.a == t.d;
  return is_uniform && has_kernels(t.a) && has_sums(t.compute, t.a) && t.mode == ComputeMode::precise;
}

std::string unsupported_types(const Types& t) {
  if (!has_kernels(t.a)) return "A of type " + std::string(to_string(t.a));
  if (t.b != t.a) return "B of type " + std::string(to_string(t.b)) + " with A of " + std::string(to_string(t.a));
  if (t.c != t.a) return "C of type " + std::string(to_string(t.c)) + " with A of " + std::string(to_string(t.a));
  if (t.d != t.a) return "D of type " + std::string(to_string(t.d)) + " with A of " + std::string(to_string(t.a));
  if (!has_sums(t.compute, t.a))
    return "compute type " + std::string(to_string(t.compute)) + " for elements of " + std::string(to_string(t.a));
  return "compute mode " + std::string(to_string(t.mode));
}

std::string unsupported_part(const Problem& p) {
  if (!are_supported(p.types)) return unsupported_types(p.types);
  if (p.batch != 1) return "batch of " + std::to_string(p.batch);
  if (p.batch_kind != BatchKind::strided) return "batch of " + std::string(to_string(p.batch_kind));
  if (p.group_kind != GroupKind::none || p.groups != 0) return "division into " + std::to_string(p.groups) + " groups";
  if (p.epilogue != Epilogue{}) return "an epilogue";
  if (p.prepacked_a && !can_be_prepacked(p.types.a)) return "prepacked A of type " + std::string(to_string(p.types.a));
  if (p.prepacked_b && !can_be_prepacked(p.types.b)) return "prepacked B of type " + std::string(to_string(p.types.b));
  return "a field of the problem";
}

}  // namespace

bool is_supported(const Problem& p) noexcept {
  // All other fields have their defaults, and so has a field that is added to Problem later.
  const Problem plain{.m = p.m,
                      .n = p.n,
                      .k = p.k,
                      .op_a = p.op_a,
                      .op_b = p.op_b,
                      .types = p.types,
                      .order = p.order,
                      .sm_limit = p.sm_limit,
                      .prepacked_a = p.prepacked_a,
                      .prepacked_b = p.prepacked_b};
  const bool has_values = p.op_a <= Op::t && p.op_b <= Op::t && p.order <= SumOrder::batch_invariant &&
                          p.sm_limit >= 0 && p.sm_limit <= kMostSms;
  return has_values && are_supported(p.types) && (!is_prepacked(p) || can_be_prepacked(p.types.a)) && p == plain;
}

void require_supported(const Problem& problem) {
  if (is_supported(problem)) return;
  const std::string part = unsupported_part(problem);
  throw Error(ErrorCode::not_supported, part + " is not supported yet: " + to_string(problem));
}

}  // namespace hotgemm
