#include "c/problem.hpp"

#include "base/member_count.hpp"
#include "c/sized.hpp"
#include "c/status.hpp"
#include "c/text.hpp"
#include "runtime/validate.hpp"
#include "runtime/validate_operands.hpp"

#include <hotgemm/context.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>
#include <type_traits>

namespace hotgemm::c {
namespace {

static_assert(
    member_count<Problem>() == 15 && member_count<Types>() == 6 && member_count<Epilogue>() == 13,
    "give hotgemm_problem the new field, at its end, in both conversions and in the checks; correct the number");
static_assert(sizeof(hotgemm_operands) == sizeof(Operands));
static_assert(offsetof(hotgemm_operands, alpha) == offsetof(Operands, alpha));
static_assert(offsetof(hotgemm_operands, batch_d) == offsetof(Operands, batch_d));
static_assert(offsetof(hotgemm_operands, auxiliary) == offsetof(Operands, auxiliary));
static_assert(offsetof(hotgemm_operands, workspace_bytes) == offsetof(Operands, workspace_bytes));
static_assert(offsetof(hotgemm_operands, group_offsets) == offsetof(Operands, group_offsets));
static_assert(offsetof(hotgemm_operands, function_operands) == offsetof(Operands, function_operands));
static_assert(offsetof(hotgemm_operands, amax) == offsetof(Operands, amax));
static_assert(offsetof(hotgemm_operands, ld_function_operands) == offsetof(Operands, ld_function_operands));
static_assert(offsetof(hotgemm_operands, batch_stride_function_operands) ==
              offsetof(Operands, batch_stride_function_operands));
static_assert(offsetof(hotgemm_operands, batch_stride_bias) == offsetof(Operands, batch_stride_bias));
static_assert(offsetof(hotgemm_operands, batch_align_d) == offsetof(Operands, batch_align_d));
static_assert(offsetof(hotgemm_operands, bias_gradient) == offsetof(Operands, bias_gradient));
static_assert(HOTGEMM_S32 == static_cast<int>(DType::s32) && HOTGEMM_E4M3 == static_cast<int>(DType::e4m3));
static_assert(HOTGEMM_COMPUTE_S32 == static_cast<int>(ComputeType::s32));
static_assert(HOTGEMM_ORDER_BATCH_INVARIANT == static_cast<int>(SumOrder::batch_invariant));
static_assert(HOTGEMM_BATCH_POINTERS == static_cast<int>(BatchKind::pointers));
static_assert(HOTGEMM_GROUPS_ALONG_K == static_cast<int>(GroupKind::along_k));
static_assert(HOTGEMM_SCALE_BLOCK_128X128 == static_cast<int>(Scaling::block_128x128));
static_assert(HOTGEMM_BIAS_PER_ROW == static_cast<int>(Bias::per_row));
static_assert(HOTGEMM_CLAMP == static_cast<int>(Activation::clamp));
static_assert(HOTGEMM_DTANH == static_cast<int>(Activation::dtanh));
static_assert(HOTGEMM_GATE_INTERLEAVED == static_cast<int>(Gate::interleaved));

/// A field of hotgemm_problem that holds an enumerator or a flag.
struct Field {
  const char* name;
  std::int32_t hotgemm_problem::*value;
};
constexpr Field kEnums[] = {{"op_a", &hotgemm_problem::op_a},
                            {"op_b", &hotgemm_problem::op_b},
                            {"type_a", &hotgemm_problem::type_a},
                            {"type_b", &hotgemm_problem::type_b},
                            {"type_c", &hotgemm_problem::type_c},
                            {"type_d", &hotgemm_problem::type_d},
                            {"compute", &hotgemm_problem::compute},
                            {"mode", &hotgemm_problem::mode},
                            {"order", &hotgemm_problem::order},
                            {"batch_kind", &hotgemm_problem::batch_kind},
                            {"group_kind", &hotgemm_problem::group_kind},
                            {"scale_a", &hotgemm_problem::scale_a},
                            {"scale_b", &hotgemm_problem::scale_b},
                            {"bias", &hotgemm_problem::bias},
                            {"activation", &hotgemm_problem::activation},
                            {"gated", &hotgemm_problem::gated},
                            {"bias_gradient", &hotgemm_problem::bias_gradient}};
constexpr Field kFlags[] = {{"aux", &hotgemm_problem::aux},
                            {"residual", &hotgemm_problem::residual},
                            {"amax", &hotgemm_problem::amax},
                            {"scale_d", &hotgemm_problem::scale_d},
                            {"scalars", &hotgemm_problem::scalars},
                            {"prepacked_a", &hotgemm_problem::prepacked_a},
                            {"prepacked_b", &hotgemm_problem::prepacked_b},
                            {"bits", &hotgemm_problem::bits}};

[[noreturn]] void name_bad_field(const hotgemm_problem& p) {
  const auto fail = [&](const Field& field, const char* what) {
    throw Error(ErrorCode::invalid_argument,
                std::string(field.name) + " is " + std::to_string(p.*field.value) + ", which is " + what);
  };
  for (const Field& field : kEnums) {
    if ((p.*field.value & ~0xff) != 0) fail(field, "not an enumerator");
  }
  for (const Field& field : kFlags) {
    if ((p.*field.value & ~1) != 0) fail(field, "neither 0 nor 1");
  }
  throw Error(ErrorCode::internal, "a field of hotgemm_problem is bad, and has no name");
}

/// The enumerations of C++ have a byte, so that another number would be cast to an enumerator. Which of the 256 exist
/// is checked behind this interface. Warm calls come here, so the names are looked for only if one is bad.
void require_bytes(const hotgemm_problem& p) {
  const std::int32_t enums = p.op_a | p.op_b | p.type_a | p.type_b | p.type_c | p.type_d | p.compute | p.mode |
                             p.order | p.batch_kind | p.group_kind | p.scale_a | p.scale_b | p.bias | p.activation |
                             p.gated | p.bias_gradient;
  const std::int32_t flags =
      p.aux | p.residual | p.amax | p.scale_d | p.scalars | p.prepacked_a | p.prepacked_b | p.bits;
  if ((enums & ~0xff) != 0 || (flags & ~1) != 0) name_bad_field(p);
}

hotgemm_problem problem_from(const Problem& p) {
  const auto number = [](auto value) { return static_cast<std::int32_t>(value); };
  const Types& t = p.types;
  const Epilogue& e = p.epilogue;
  return {.size = sizeof(hotgemm_problem),
          .m = p.m,
          .n = p.n,
          .k = p.k,
          .op_a = number(p.op_a),
          .op_b = number(p.op_b),
          .type_a = number(t.a),
          .type_b = number(t.b),
          .type_c = number(t.c),
          .type_d = number(t.d),
          .compute = number(t.compute),
          .mode = number(t.mode),
          .order = number(p.order),
          .sm_limit = p.sm_limit,
          .batch = p.batch,
          .batch_kind = number(p.batch_kind),
          .group_kind = number(p.group_kind),
          .groups = p.groups,
          .scale_a = number(e.scale_a),
          .scale_b = number(e.scale_b),
          .bias = number(e.bias),
          .activation = number(e.activation),
          .aux = e.aux,
          .gated = number(e.gate),
          .residual = e.residual,
          .amax = e.amax,
          .scale_d = e.scale_d,
          .scalars = e.scalars,
          .prepacked_a = p.prepacked_a,
          .prepacked_b = p.prepacked_b,
          .function = e.function.number(),
          .bits = e.bits,
          .bias_gradient = number(e.bias_gradient)};
}

}  // namespace

Problem problem_of(const hotgemm_problem* given) {
  const hotgemm_problem& p = required(given, "problem");
  if (p.size != sizeof(p)) {
    const hotgemm_problem converted = known(p, HOTGEMM_PROBLEM_INIT, "problem");
    return problem_of(&converted);
  }
  require_bytes(p);
  return {.m = p.m,
          .n = p.n,
          .k = p.k,
          .op_a = static_cast<Op>(p.op_a),
          .op_b = static_cast<Op>(p.op_b),
          .types = {.a = static_cast<DType>(p.type_a),
                    .b = static_cast<DType>(p.type_b),
                    .c = static_cast<DType>(p.type_c),
                    .d = static_cast<DType>(p.type_d),
                    .compute = static_cast<ComputeType>(p.compute),
                    .mode = static_cast<ComputeMode>(p.mode)},
          .order = static_cast<SumOrder>(p.order),
          .sm_limit = p.sm_limit,
          .batch = p.batch,
          .batch_kind = static_cast<BatchKind>(p.batch_kind),
          .group_kind = static_cast<GroupKind>(p.group_kind),
          .groups = p.groups,
          .epilogue = {.scale_a = static_cast<Scaling>(p.scale_a),
                       .scale_b = static_cast<Scaling>(p.scale_b),
                       .bias = static_cast<Bias>(p.bias),
                       .aux = p.aux != 0,
                       .activation = static_cast<Activation>(p.activation),
                       .gate = static_cast<Gate>(p.gated),
                       .residual = p.residual != 0,
                       .amax = p.amax != 0,
                       .scale_d = p.scale_d != 0,
                       .scalars = p.scalars != 0,
                       .function = EpilogueFunction::of(p.function),
                       .bits = p.bits != 0,
                       .bias_gradient = static_cast<Bias>(p.bias_gradient)},
          .prepacked_a = p.prepacked_a != 0,
          .prepacked_b = p.prepacked_b != 0};
}

const Operands& operands_of(const hotgemm_operands* given) {
  return reinterpret_cast<const Operands&>(required(given, "operands"));
}

Workload workload_of(const hotgemm_problem* problem, const hotgemm_operands* operands) {
  const Problem known = problem_of(problem);
  validate(known);
  if (operands == nullptr) return Workload(known);
  const Operands& its_operands = operands_of(operands);
  return describe(known, has_known_size(its_operands) ? its_operands : known_operands(its_operands));
}

Operand operand_of(std::int32_t number) {
  if (number == HOTGEMM_OPERAND_A) return Operand::a;
  if (number == HOTGEMM_OPERAND_B) return Operand::b;
  throw Error(ErrorCode::invalid_argument,
              "operand is " + std::to_string(number) + "; it is HOTGEMM_OPERAND_A or HOTGEMM_OPERAND_B");
}

}  // namespace hotgemm::c

using namespace hotgemm;

namespace {

/// Throws if the caller's version of the struct has no field for a part of `filled`: without the part it is another
/// problem.
void require_room(const hotgemm_problem& out, const hotgemm_problem& filled) {
  c::require_size(out, "problem");
  const auto* bytes = reinterpret_cast<const unsigned char*>(&filled);
  const std::size_t room = std::min<std::size_t>(out.size, sizeof(filled));
  if (std::all_of(bytes + room, bytes + sizeof(filled), [](unsigned char byte) { return byte == 0; })) return;
  throw Error(ErrorCode::not_supported, "problem.size is " + std::to_string(out.size) +
                                            ", without a field for a part of the text; it is " +
                                            std::to_string(sizeof(filled)) + " in this version");
}

}  // namespace

hotgemm_status hotgemm_problem_parse(const char* text, hotgemm_problem* problem) {
  return c::done(nullptr, [&] {
    const Problem parsed = parse_problem(&c::required(text, "text"));
    const hotgemm_problem filled = c::problem_from(parsed);
    c::workload_of(&filled, nullptr);  // throws for words that contradict each other
    hotgemm_problem& out = c::required(problem, "problem");
    require_room(out, filled);
    c::give(out, filled, "problem");
  });
}

hotgemm_status hotgemm_problem_text(const hotgemm_problem* problem, const hotgemm_operands* operands, char* buffer,
                                    size_t size, size_t* length) {
  return c::done(nullptr, [&] { c::give_text(to_string(c::workload_of(problem, operands)), buffer, size, length); });
}
