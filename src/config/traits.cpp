#include "config/traits.hpp"

#include "config/function_source.hpp"
#include "config/problem_enums.hpp"
#include "config/supported.hpp"
#include "config/work.hpp"

#include <algorithm>
#include <bit>

namespace hotgemm {
namespace {

std::string_view tag_of(Scaling scaling) {
  switch (scaling) {
    case Scaling::none: return "";
    case Scaling::tensor: return "t";
    case Scaling::vector: return "v";
    case Scaling::block_1x128: return "r";
    case Scaling::block_128x128: return "s";
  }
  return "";
}

/// The epilogue as a part of a kernel's name: "savbngelu".
std::string epilogue_tags(const Epilogue& e) {
  std::string text;
  const auto add = [&](bool is_set, std::string_view tag, std::string_view kind = {}) {
    if (is_set) text.append(tag).append(kind);
  };
  add(e.scale_a != Scaling::none, "sa", tag_of(e.scale_a));
  add(e.scale_b != Scaling::none, "sb", tag_of(e.scale_b));
  add(e.bias != Bias::none, "b", e.bias == Bias::per_row ? "m" : "n");
  add(e.aux, "aux");
  if (e.activation != Activation::none) {
    std::string name(to_string(e.activation));
    std::erase(name, '_');
    text += name;
  }
  add(e.bits, "bits");
  if (e.has_function()) text += "fn" + to_string(e.function);
  add(e.is_gated(), "gate", e.gate == Gate::halves ? "h" : "i");
  add(e.residual, "res");
  add(e.amax, "amax");
  add(e.bias_gradient != Bias::none, "db", e.bias_gradient == Bias::per_row ? "m" : "n");
  add(e.scale_d, "sd");
  add(e.scalars, "dev");
  return text;
}

}  // namespace

namespace {

/// The elements of B that accesses of aligned rows may take. Where rows hold both halves of a gated product, the second
/// half begins within them.
int width_of_b(const Workload& p) {
  const int width = std::max(p.hints.align_b / size_bytes(p.types.b), 1);
  if (p.epilogue.gate != Gate::halves || p.op_b == Op::t) return width;
  return std::min(width, 1 << std::countr_zero(static_cast<std::uint64_t>(p.n / 2) | 16));
}

}  // namespace

GemmTraits traits_of(const Workload& problem) {
  require_supported(problem);
  const Types& types = problem.types;
  return {.element = multiplied_type(types.a, types.compute),
          .accumulator = sum_type(types.compute),
          .element_b = multiplied_type(types.b, types.compute),
          .element_d = types.d,
          .op_a = problem.op_a,
          .op_b = problem.op_b,
          .reads_c = !problem.hints.beta_is_zero,
          .vec_a = std::max(problem.hints.align_a / size_bytes(types.a), 1),
          .vec_b = width_of_b(problem),
          .vec_d = std::max(problem.hints.align_d / size_bytes(types.d), 1),
          .fast_sums = types.mode == ComputeMode::fast,
          .epilogue = problem.epilogue,
          .batched = !is_one_product(problem),
          .grouped = problem.groups != 0,
          .masked = problem.group_kind == GroupKind::masked_rows,
          .along_k = problem.group_kind == GroupKind::along_k,
          .pointers = problem.batch_kind == BatchKind::pointers};
}

Types types_of(const GemmTraits& traits) {
  const ComputeType compute = traits.element == DType::tf32                      ? ComputeType::tf32
                              : traits.accumulator == sum_type(ComputeType::f16) ? ComputeType::f16
                              : traits.accumulator == sum_type(ComputeType::s32) ? ComputeType::s32
                                                                                 : ComputeType::f32;
  return {.a = stored_type(traits.element),
          .b = stored_type(traits.element_b),
          .c = traits.element_d,
          .d = traits.element_d,
          .compute = compute,
          .mode = traits.fast_sums ? ComputeMode::fast : ComputeMode::precise};
}

Workload workload_of(const GemmTraits& t, std::int64_t m, std::int64_t n, std::int64_t k) {
  return {{.m = m,
           .n = n,
           .k = k,
           .op_a = t.op_a,
           .op_b = t.op_b,
           .types = types_of(t),
           .batch = t.batched && !t.grouped ? 2 : 1,
           .batch_kind = t.pointers ? BatchKind::pointers : BatchKind::strided,
           .group_kind = t.masked    ? GroupKind::masked_rows
                         : t.along_k ? GroupKind::along_k
                         : t.grouped ? GroupKind::rows
                                     : GroupKind::none,
           .groups = t.grouped ? 2 : 0,
           .epilogue = t.epilogue},
          {.align_a = t.vec_a * size_bytes(t.element),
           .align_b = t.vec_b * size_bytes(t.element_b),
           .align_d = t.vec_d * size_bytes(t.element_d),
           .beta_is_zero = !t.reads_c}};
}

std::string to_string(const GemmTraits& t) {
  std::string text(to_string(t.element));
  if (t.element_b != t.element) text.append("x").append(to_string(t.element_b));
  text.append("_").append(to_string(t.accumulator));
  if (t.fast_sums) text.append("fast");
  if (t.element_d != t.element) text.append("to").append(to_string(t.element_d));
  text += '_';
  text += to_string(t.op_a);
  text += to_string(t.op_b);
  text += "_a" + std::to_string(t.vec_a) + "b" + std::to_string(t.vec_b) + "d" + std::to_string(t.vec_d);
  text += t.reads_c ? "_c1" : "_c0";
  if (t.grouped) {
    text += t.masked ? "_masked" : t.along_k ? "_groupk" : "_group";
  } else if (t.pointers) {
    text += "_pointers";
  } else if (t.batched) {
    text += "_batch";
  }
  if (t.is_fused()) text += "_e" + epilogue_tags(t.epilogue);
  return text;
}

}  // namespace hotgemm
