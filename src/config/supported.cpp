#include "config/supported.hpp"

#include "config/families.hpp"
#include "config/prepacked.hpp"
#include "config/problem_enums.hpp"
#include "config/sm_limit.hpp"
#include "config/traits.hpp"

#include <hotgemm/error.hpp>

namespace hotgemm {
namespace {

/// True if kernels multiply matrices of type `a` by matrices of type `b`, with any sums and any D.
bool has_products(DType a, DType b) {
  bool found = false;
  for (const Family& family : families()) {
    for (const KernelTypes& types : family.types) found = found || (types.element == a && types.element_b == b);
  }
  return found;
}

/// True if kernels have such products and sum them in `compute`.
bool has_sums(const Types& t) {
  bool found = false;
  for (int d = 0; d < kElementTypes; ++d)
    found = found || has_kernels({t.a, sum_type(t.compute), t.b, static_cast<DType>(d)});
  return found && t.compute != ComputeType::tf32;
}

bool are_supported(const Types& t) noexcept {
  // A caller may have cast any number to an enumeration.
  if (t.c != t.d || t.mode != ComputeMode::precise || t.compute > ComputeType::s32) return false;
  if (t.compute == ComputeType::tf32) return false;
  // Most problems, without a search.
  const bool is_uniform = t.a == t.b && t.a == t.d;
  if (is_uniform && is_wide_float(t.a) && t.compute == ComputeType::f32) return true;
  return has_kernels({t.a, sum_type(t.compute), t.b, t.d});
}

std::string unsupported_types(const Types& t) {
  const std::string a(to_string(t.a)), b(to_string(t.b)), d(to_string(t.d)), compute(to_string(t.compute));
  if (!has_products(t.a, t.a)) return "A of type " + a;
  if (!has_products(t.a, t.b)) return "B of type " + b + " with A of " + a;
  if (!has_sums(t)) return "compute type " + compute + " for elements of " + a;
  if (!has_kernels({t.a, sum_type(t.compute), t.b, t.d})) return "D of type " + d + " with A of " + a;
  if (t.c != t.d) return "C of type " + std::string(to_string(t.c)) + " with D of " + d;
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
