#include "config/supported.hpp"

#include "base/member_count.hpp"
#include "config/class_key.hpp"  // measured_product
#include "config/families.hpp"
#include "config/function_source.hpp"
#include "config/max_size.hpp"
#include "config/prepacked.hpp"
#include "config/problem_enums.hpp"
#include "config/sm_limit.hpp"
#include "config/traits.hpp"
#include "config/work.hpp"

#include <hotgemm/error.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace hotgemm {
namespace {

// No kernel has what is added to a problem, until is_supported looks at it.
static_assert(member_count<Problem>() == 15 && member_count<Types>() == 6 && member_count<Epilogue>() == 13,
              "let is_supported look at the new field, then correct the number");

/// A place for each type of A, of sums and of B.
constexpr std::size_t index_of(DType a, DType sum, DType b) {
  return (static_cast<std::size_t>(a) * kElementTypes + static_cast<std::size_t>(sum)) * kElementTypes +
         static_cast<std::size_t>(b);
}

/// The types that families state: at each place a bit for each type of D. Calls look here, so that the test takes a few
/// instructions.
constexpr auto kStated = [] {
  static_assert(kElementTypes <= 8, "a bit for each type");
  std::array<std::uint8_t, std::size_t{kElementTypes} * kElementTypes * kElementTypes> stated{};
  for_each_family([&]<class Config>(std::type_identity<Config>) {
    for (const KernelTypes& t : FamilyOf<Config>::kFamily.types) {
      std::uint8_t& results = stated[index_of(t.element, t.accumulator, t.element_b)];
      results = static_cast<std::uint8_t>(results | 1u << static_cast<unsigned>(t.element_d));
    }
  });
  return stated;
}();

/// The types of D, a bit for each, with which kernels multiply and sum like this.
unsigned results_of(DType a, ComputeType compute, DType b) {
  // A caller may have cast any number to an enumeration.
  constexpr auto kEnd = static_cast<DType>(kElementTypes);
  if (a >= kEnd || b >= kEnd || compute > ComputeType::s32) return 0;
  if (a == DType::tf32 || b == DType::tf32) return 0;  // no matrix has it
  const DType multiplied = multiplied_type(a, compute);
  if (compute == ComputeType::tf32 && multiplied != DType::tf32) return 0;
  return kStated[index_of(multiplied, sum_type(compute), multiplied_type(b, compute))];
}

/// True if kernels multiply matrices of these types, with any sums and any D.
bool has_products(DType a, DType b) {
  return (results_of(a, ComputeType::f32, b) | results_of(a, ComputeType::f16, b) |
          results_of(a, ComputeType::s32, b)) != 0;
}

bool has_results(const Types& t) {
  return t.d < static_cast<DType>(kElementTypes) &&
         (results_of(t.a, t.compute, t.b) >> static_cast<unsigned>(t.d) & 1u) != 0;
}

/// True if some sums of these types may be less exact than others, so that a caller can ask for the fast ones.
bool has_mode(const Types& t) { return t.mode == ComputeMode::precise || (t.mode == ComputeMode::fast && is_fp8(t.a)); }

bool are_supported(const Types& t) noexcept { return t.c == t.d && has_mode(t) && has_results(t); }

std::string unsupported_types(const Types& t) {
  const std::string a(to_string(t.a)), b(to_string(t.b)), d(to_string(t.d)), compute(to_string(t.compute));
  if (!has_products(t.a, t.a)) return "A of type " + a;
  if (!has_products(t.a, t.b)) return "B of type " + b + " with A of " + a;
  if (results_of(t.a, t.compute, t.b) == 0) return "compute type " + compute + " for elements of " + a;
  if (!has_results(t)) return "D of type " + d + " with A of " + a;
  if (t.c != t.d) return "C of type " + std::string(to_string(t.c)) + " with D of " + d;
  return "compute mode " + std::string(to_string(t.mode));
}

/// True if both halves of a gated B begin with a block of scales, or if there are no such halves.
bool has_whole_halves(const Problem& p) noexcept {
  return p.epilogue.gate != Gate::halves || p.n % (2 * kScaleBlock) == 0;
}

/// True if kernels have the scales of A and of B: those of blocks of both.
bool has_scales(const Problem& p) noexcept {
  const Epilogue& e = p.epilogue;
  if (!e.has_block_scales()) return true;
  return e.scale_a == Scaling::block_1x128 && e.scale_b == Scaling::block_128x128 && is_fp8(p.types.a) &&
         p.types.mode == ComputeMode::precise && has_whole_halves(p);
}
std::string unsupported_scales(const Problem& p) {
  const Epilogue& e = p.epilogue;
  if (e.scale_a != Scaling::block_1x128 || e.scale_b != Scaling::block_128x128) {
    return "an epilogue with scaling " + std::string(to_string(e.scale_a)) + " of A and " +
           std::string(to_string(e.scale_b)) + " of B";
  }
  if (!is_fp8(p.types.a)) return "scales of blocks with A of type " + std::string(to_string(p.types.a));
  if (p.types.mode != ComputeMode::precise)
    return "scales of blocks with compute mode " + std::string(to_string(p.types.mode));
  return "scales of blocks with a gate in halves that are no multiple of 128 columns";
}

/// True if bits are those of ReLU: written with it, or read by its derivative.
bool has_relu_bits(const Epilogue& e) noexcept {
  return e.aux ? e.activation == Activation::relu : e.activation == Activation::drelu;
}

/// The part of the problem's epilogue that no kernel has; empty if there is none.
std::string unsupported_epilogue(const Problem& p) {
  const Epilogue& e = p.epilogue;
  if (e == Epilogue{}) return {};
  if (p.types.d == DType::s32) return "an epilogue with D of type s32";
  if (!has_scales(p)) return unsupported_scales(p);
  if (e.is_gated() && e.reads_auxiliary()) return "a derivative with a gated epilogue";
  if (e.is_gated() && e.bits) return "bits with a gated epilogue";
  if (e.bits && !has_relu_bits(e)) return "bits of another activation than relu, or drelu that reads them";
  if (e.bias_gradient != Bias::none && e.is_gated()) return "the gradient of a bias with a gated epilogue";
  if (e.bias_gradient != Bias::none && p.groups != 0) return "the gradient of a bias with groups";
  if (e.bias_gradient != Bias::none && p.order != SumOrder::any)
    return "the gradient of a bias with order " + std::string(to_string(p.order));
  if (e.is_gated() && p.n % 2 != 0) return "an odd n with a gated epilogue";
  return {};
}

bool has_epilogue(const Problem& p) noexcept {
  const Epilogue& e = p.epilogue;
  if (e == Epilogue{}) return true;
  if (e.is_gated() && (e.reads_auxiliary() || e.bits || p.n % 2 != 0 || e.gate > Gate::interleaved)) return false;
  if (e.has_function() && (e.activation != Activation::none || !is_well_formed(e.function))) return false;
  if (e.aux && e.reads_auxiliary()) return false;
  if (e.bits && !has_relu_bits(e)) return false;
  const bool may_add = !e.is_gated() && p.groups == 0 && p.order == SumOrder::any;
  if (e.bias_gradient != Bias::none && (!may_add || e.bias_gradient > Bias::per_row)) return false;
  return p.types.d != DType::s32 && has_scales(p) && e.bias <= Bias::per_row && e.activation <= Activation::dtanh;
}

/// True if kernels read such matrices of such groups.
bool has_groups(const Problem& p) noexcept {
  if (p.groups == 0) return p.group_kind == GroupKind::none;
  if (p.groups < 0 || p.groups > kMaxSize || p.batch != 1) return false;
  if (p.batch_kind != BatchKind::strided) return false;
  switch (p.group_kind) {
    case GroupKind::none: return false;
    case GroupKind::rows: return p.op_a == Op::n;
    case GroupKind::masked_rows: return true;
    case GroupKind::along_k: return p.op_a == Op::t && p.op_b == Op::n;
  }
  return false;
}

std::string unsupported_part(const Problem& p) {
  if (!are_supported(p.types)) return unsupported_types(p.types);
  if (p.group_kind == GroupKind::rows && p.op_a == Op::t) return "a transposed A with groups of rows";
  if (p.group_kind == GroupKind::along_k && p.op_a == Op::n) return "an A that is not transposed with groups along k";
  if (p.group_kind == GroupKind::along_k && p.op_b == Op::t) return "a transposed B with groups along k";
  if (p.groups != 0 && (p.batch != 1 || p.batch_kind != BatchKind::strided)) return "a batch of groups";
  if (p.groups != 0 && is_prepacked(p)) return "prepacked operands with groups";
  if (std::string part = unsupported_epilogue(p); !part.empty()) return part;
  if (p.prepacked_a && !can_be_prepacked(p.types.a)) return "prepacked A of type " + std::string(to_string(p.types.a));
  if (p.prepacked_b && !can_be_prepacked(p.types.b)) return "prepacked B of type " + std::string(to_string(p.types.b));
  if (!is_one_product(p) && is_prepacked(p)) return "a batch of prepacked operands";
  return "a field of the problem";
}

}  // namespace

bool is_supported(const Problem& p) noexcept {
  const bool has_values = p.op_a <= Op::t && p.op_b <= Op::t && p.order <= SumOrder::batch_invariant &&
                          p.sm_limit >= 0 && p.sm_limit <= kMostSms && p.batch >= 0 && p.batch <= kMaxSize &&
                          p.batch_kind <= BatchKind::pointers;
  const bool has_packing = !is_prepacked(p) || (can_be_prepacked(p.types.a) && is_one_product(p));
  return has_groups(p) && has_values && are_supported(p.types) && has_epilogue(p) && has_packing;
}

void require_supported(const Problem& problem) {
  if (is_supported(problem)) return;
  const std::string part = unsupported_part(problem);
  throw Error(ErrorCode::not_supported, part + " is not supported yet: " + to_string(problem));
}

void require_no_c_with_gate(const Problem& p, bool reads_c) {
  if (!reads_c || !p.epilogue.is_gated()) return;
  throw Error(ErrorCode::not_supported,
              "C with a gated epilogue (beta is not 0) is not supported yet: " + to_string(p));
}

void require_supported(const Workload& workload) {
  require_supported(static_cast<const Problem&>(workload));
  require_no_c_with_gate(workload, !workload.hints.beta_is_zero);
}

void require_measured_product(const Workload& p) {
  if (p.epilogue == measured_product(p).epilogue) return;
  throw Error(ErrorCode::not_supported,
              "single configs are measured on bare products, or with scales of blocks; leave out the epilogue of " +
                  to_string(p));
}

}  // namespace hotgemm
