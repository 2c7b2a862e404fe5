#include "runtime/validate_operands.hpp"

#include <hotgemm/error.hpp>

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

namespace hotgemm {
namespace {

static_assert(std::is_standard_layout_v<Operands> && std::is_trivially_copyable_v<Operands>);
static_assert(offsetof(Operands, size) == 0);

/// The first version of Operands ended before the scalars in device memory.
constexpr std::size_t kOldestBytes = offsetof(Operands, alpha_device);

/// The fields that the bare product does not use are the words from `alpha_device` to `workspace`, and those that were
/// added behind `workspace_bytes`.
constexpr std::size_t kFirstUnused = offsetof(Operands, alpha_device);
constexpr std::size_t kUnusedWords = (offsetof(Operands, workspace) - kFirstUnused) / sizeof(std::uint64_t);
constexpr std::size_t kFirstAdded = offsetof(Operands, group_offsets);
constexpr std::size_t kAddedWords = (sizeof(Operands) - kFirstAdded) / sizeof(std::uint64_t);

struct Field {
  const char* name;
  std::size_t offset;
  bool (*is_used)(const Problem&);
};
/// Distances are allowed for a batch of one product too: the number may be known late.
bool is_strided(const Problem& p) { return p.batch_kind == BatchKind::strided; }
bool has_pointers(const Problem& p) { return p.batch_kind == BatchKind::pointers; }
/// Groups of rows have rows of one A, C and D, and groups along k have rows of one A and B.
bool has_matrices_a(const Problem& p) {
  return is_strided(p) && p.group_kind != GroupKind::rows && p.group_kind != GroupKind::along_k;
}
bool has_matrices_b(const Problem& p) { return is_strided(p) && p.group_kind != GroupKind::along_k; }
/// The matrices of an epilogue are apart in a batch by pointers too.
bool has_matrices_beside_d(const Problem& p) { return p.group_kind != GroupKind::rows; }
bool has_matrices_d(const Problem& p) { return is_strided(p) && has_matrices_beside_d(p); }
bool has_biases(const Problem& p) {
  return (p.groups != 0 && p.epilogue.bias == Bias::per_column) ||
         (p.group_kind == GroupKind::along_k && p.epilogue.bias != Bias::none);
}
template <int kIndex>
bool has_operand(const Problem& p) {
  return p.epilogue.function.operand(kIndex) != FunctionOperand::none;
}
template <int kIndex>
bool has_matrix(const Problem& p) {
  return p.epilogue.function.operand(kIndex) == FunctionOperand::matrix;
}
template <int kIndex>
bool has_matrices(const Problem& p) {
  return has_matrix<kIndex>(p) && has_matrices_beside_d(p);
}
bool has_auxiliary(const Problem& p) { return p.epilogue.has_auxiliary(); }
// Each is one word, in the order of the struct.
#define HOTGEMM_FIELD(name, ...) \
  Field { #name, offsetof(Operands, name) __VA_OPT__(, ) __VA_ARGS__ }
constexpr Field kUnused[] = {
    HOTGEMM_FIELD(alpha_device, [](const Problem& p) { return p.epilogue.scalars; }),
    HOTGEMM_FIELD(beta_device, [](const Problem& p) { return p.epilogue.scalars; }),
    HOTGEMM_FIELD(batch_stride_a, has_matrices_a),
    HOTGEMM_FIELD(batch_stride_b, has_matrices_b),
    HOTGEMM_FIELD(batch_stride_c, has_matrices_d),
    HOTGEMM_FIELD(batch_stride_d, has_matrices_d),
    HOTGEMM_FIELD(batch_a, has_pointers),
    HOTGEMM_FIELD(batch_b, has_pointers),
    HOTGEMM_FIELD(batch_c, has_pointers),
    HOTGEMM_FIELD(batch_d, has_pointers),
    HOTGEMM_FIELD(bias, [](const Problem& p) { return p.epilogue.bias != Bias::none; }),
    HOTGEMM_FIELD(residual, [](const Problem& p) { return p.epilogue.residual; }),
    HOTGEMM_FIELD(ld_residual, [](const Problem& p) { return p.epilogue.residual; }),
    HOTGEMM_FIELD(batch_stride_residual,
                  [](const Problem& p) { return p.epilogue.residual && has_matrices_beside_d(p); }),
    HOTGEMM_FIELD(auxiliary, has_auxiliary),
    HOTGEMM_FIELD(ld_auxiliary, has_auxiliary),
    HOTGEMM_FIELD(batch_stride_auxiliary,
                  [](const Problem& p) { return has_auxiliary(p) && has_matrices_beside_d(p); }),
    HOTGEMM_FIELD(scale_a, [](const Problem& p) { return p.epilogue.scale_a != Scaling::none; }),
    HOTGEMM_FIELD(scale_b, [](const Problem& p) { return p.epilogue.scale_b != Scaling::none; }),
    HOTGEMM_FIELD(scale_d, [](const Problem& p) { return p.epilogue.scale_d; }),
    HOTGEMM_FIELD(group_offsets,
                  [](const Problem& p) { return p.groups != 0 && p.group_kind != GroupKind::masked_rows; }),
    HOTGEMM_FIELD(function_operands[0], has_operand<0>),
    HOTGEMM_FIELD(function_operands[1], has_operand<1>),
    HOTGEMM_FIELD(function_operands[2], has_operand<2>),
    HOTGEMM_FIELD(function_operands[3], has_operand<3>),
    HOTGEMM_FIELD(clamp_low, [](const Problem& p) { return p.epilogue.has_clamp(); }),  // and clamp_high
    HOTGEMM_FIELD(amax, [](const Problem& p) { return p.epilogue.amax; }),
    HOTGEMM_FIELD(ld_function_operands[0], has_matrix<0>),
    HOTGEMM_FIELD(ld_function_operands[1], has_matrix<1>),
    HOTGEMM_FIELD(ld_function_operands[2], has_matrix<2>),
    HOTGEMM_FIELD(ld_function_operands[3], has_matrix<3>),
    HOTGEMM_FIELD(batch_stride_function_operands[0], has_matrices<0>),
    HOTGEMM_FIELD(batch_stride_function_operands[1], has_matrices<1>),
    HOTGEMM_FIELD(batch_stride_function_operands[2], has_matrices<2>),
    HOTGEMM_FIELD(batch_stride_function_operands[3], has_matrices<3>),
    HOTGEMM_FIELD(group_counts, [](const Problem& p) { return p.group_kind == GroupKind::masked_rows; }),
    HOTGEMM_FIELD(batch_stride_bias, has_biases),
    HOTGEMM_FIELD(batch_align_a, has_pointers),  // and those of B, C and D
    HOTGEMM_FIELD(ld_scale_a, [](const Problem& p) { return p.epilogue.has_block_scales(); }),
    HOTGEMM_FIELD(ld_scale_b, [](const Problem& p) { return p.epilogue.has_block_scales(); }),
    HOTGEMM_FIELD(bias_gradient, [](const Problem& p) { return p.epilogue.bias_gradient != Bias::none; }),
};
#undef HOTGEMM_FIELD
static_assert(std::size(kUnused) == kUnusedWords + kAddedWords, "refuse an added field here until a kernel uses it");
static_assert(kFirstAdded == offsetof(Operands, workspace_bytes) + sizeof(Operands::workspace_bytes));

std::uint64_t word_at(const Operands& operands, std::size_t offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, reinterpret_cast<const std::byte*>(&operands) + offset, sizeof word);
  return word;
}

/// Throws the reason why the operands do not fit the problem's epilogue, if they do not.
[[gnu::noinline]] void look_closer(const Problem& problem, const Operands& operands) {
  for (const Field& field : kUnused) {
    if (word_at(operands, field.offset) == 0) continue;
    if (!field.is_used(problem)) {
      throw Error(ErrorCode::invalid_argument,
                  std::string("the operands' field ") + field.name +
                      " is set, but no part of the problem uses it: " + to_string(problem));
    }
  }
  if (operands.workspace == nullptr && operands.workspace_bytes != 0) {
    throw Error(ErrorCode::invalid_argument,
                "workspace is null, but workspace_bytes is " + std::to_string(operands.workspace_bytes));
  }
}

/// The OR of words that must be zero. Every warm call computes it, and a branch for each word would take longer.
template <std::size_t kFirst, std::size_t... kIndex>
std::uint64_t any_of_words(const Operands& operands, std::index_sequence<kIndex...>) {
  return (word_at(operands, kFirst + kIndex * sizeof(std::uint64_t)) | ...);
}

}  // namespace

Operands known_operands(const Operands& given) {
  if (given.size < kOldestBytes || given.size % alignof(Operands) != 0) {
    throw Error(ErrorCode::invalid_argument,
                "the operands' size is " + std::to_string(given.size) + "; it is sizeof(hotgemm::Operands), at least " +
                    std::to_string(kOldestBytes) + " and a multiple of " + std::to_string(alignof(Operands)));
  }
  const auto* bytes = reinterpret_cast<const std::byte*>(&given);
  const auto is_set = [](std::byte byte) { return byte != std::byte{0}; };
  if (given.size > sizeof(Operands) && std::any_of(bytes + sizeof(Operands), bytes + given.size, is_set)) {
    throw Error(ErrorCode::not_supported, "the operands have a field beyond byte " + std::to_string(sizeof(Operands)) +
                                              ", which this version of hotgemm does not know");
  }
  Operands known;
  std::memcpy(&known, bytes, std::min(given.size, sizeof known));
  known.size = sizeof known;
  return known;
}

void validate_fields(const Problem& problem, const Operands& operands) {
  const bool lacks_workspace = operands.workspace == nullptr && operands.workspace_bytes != 0;
  const std::uint64_t more = any_of_words<kFirstUnused>(operands, std::make_index_sequence<kUnusedWords>()) |
                             any_of_words<kFirstAdded>(operands, std::make_index_sequence<kAddedWords>());
  if (more != 0 || lacks_workspace) look_closer(problem, operands);
}

}  // namespace hotgemm
