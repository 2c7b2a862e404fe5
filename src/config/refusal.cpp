#include "config/refusal.hpp"

#include "config/device_info.hpp"
#include "config/live_registers.hpp"
#include "config/occupancy.hpp"
#include "config/traits.hpp"
#include "shared/fragment.hpp"
#include "shared/tile_layout.hpp"

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace hotgemm {
namespace {

// The least number of registers that is_legal of the families reserves for addresses and loop state, in addition to
// accumulators and fragments.
constexpr int kOtherRegisters = 24;
// Larger than any field of a legal config; below this value, sizes do not overflow.
constexpr std::int64_t kMostOfAField = 1024;
constexpr std::int64_t kMostTileBytes = std::int64_t{1} << 28;

/// A field with its value if it is a number. For a switch, every value is valid.
struct NumberField {
  std::string_view name;
  int least;
  std::int64_t value;
};

std::vector<NumberField> number_fields(const KernelConfig& config) {
  std::vector<NumberField> fields;
  const auto add = [&](const ConfigField& field, auto value) {
    if constexpr (std::is_same_v<decltype(value), int>) fields.push_back({field.name, field.least, value});
  };
  std::visit([&](const auto& c) { c.visit_fields(c, add); }, config);
  return fields;
}

std::string refusal_of_sm(const KernelConfig& config, const GemmTraits& traits, const ArchLimits& arch) {
  const int blocks = blocks_per_sm(config);
  const std::string times = std::to_string(blocks) + " blocks of ";
  const std::int64_t all_threads = std::int64_t{blocks} * threads(config);
  if (all_threads > arch.threads_per_sm) {
    return "threads: " + times + std::to_string(threads(config)) + " are to be resident, an SM has room for " +
           std::to_string(arch.threads_per_sm);
  }
  const int smem = smem_bytes(config, traits) + kReservedSmemPerBlockBytes;
  if (blocks > 1 && std::int64_t{blocks} * smem > arch.smem_per_sm_bytes) {
    return "shared memory: " + times + std::to_string(smem) + " bytes are to be resident, an SM has " +
           std::to_string(arch.smem_per_sm_bytes);
  }
  const auto live = std::visit([&](const auto& c) { return live_registers(c, traits, arch); }, config);
  if (!live || live->all() + kOtherRegisters <= live->budget) return {};
  const std::string staging = live->staging == 0 ? "" : ", " + std::to_string(live->staging) + " for copies";
  return "registers: " + std::to_string(live->accumulators) + " for accumulators" + staging + " and " +
         std::to_string(live->fragments) + " for fragments leave too few for the rest, a thread has " +
         std::to_string(live->budget) + " at most";
}

/// `traits` with one other element type and accesses of the same width in bytes.
GemmTraits with_element(GemmTraits traits, DType element) {
  const auto set = [&](DType& type, int& vec) {
    vec = std::max(vec * size_bytes(type) / size_bytes(element), 1);
    type = element;
  };
  set(traits.element, traits.vec_a);
  set(traits.element_b, traits.vec_b);
  set(traits.element_d, traits.vec_d);
  if (element != DType::f16 || traits.accumulator != DType::f16) traits.accumulator = DType::f32;
  return traits;
}

GemmTraits with_widest_accesses(GemmTraits traits) {
  traits.vec_a = 16 / size_bytes(traits.element);
  traits.vec_b = 16 / size_bytes(traits.element_b);
  traits.vec_d = 16 / size_bytes(traits.element_d);
  return traits;
}

std::string bytes_of(const GemmTraits& t) {
  return std::to_string(t.vec_a * size_bytes(t.element)) + ", " + std::to_string(t.vec_b * size_bytes(t.element_b)) +
         " and " + std::to_string(t.vec_d * size_bytes(t.element_d));
}

/// The types of `traits` as words: "f16", "e4m3 and e5m2", "s8 with D of s32".
std::string types_text(const GemmTraits& t) {
  std::string text(to_string(t.element));
  if (t.element_b != t.element) text.append(" and ").append(to_string(t.element_b));
  if (t.element_d != t.element) text.append(" with D of ").append(to_string(t.element_d));
  return text;
}

/// The reason if one change to the traits would make the config legal.
std::string refusal_of_traits(const KernelConfig& config, const GemmTraits& traits, const ArchLimits& arch) {
  const std::string family = "family " + std::string(family_of(config).name);
  GemmTraits bare = traits;
  bare.epilogue = {};
  if (traits.is_fused() && is_legal(config, bare, arch))
    return "epilogue: this kernel of " + family + " has no registers, or no code, for " + to_string(traits);
  GemmTraits sums_in_f32 = traits;
  sums_in_f32.accumulator = DType::f32;
  if (traits.accumulator != DType::f32 && is_legal(config, sums_in_f32, arch))
    return "accumulation: this kernel of " + family + " takes no sums in " + std::string(to_string(traits.accumulator));
  GemmTraits fast = traits;
  fast.fast_sums = is_fp8(traits.element);
  if (fast != traits && is_legal(config, fast, arch))
    return "sums: precise sums of " + types_text(traits) + " need a kernel that promotes them";
  for (const Op op_a : {Op::n, Op::t}) {
    for (const Op op_b : {Op::n, Op::t}) {
      GemmTraits other = traits;
      other.op_a = op_a;
      other.op_b = op_b;
      if (is_legal(config, other, arch))
        return "layout: no such kernel of " + family + " for " + std::string(to_string(traits.op_a)) +
               std::string(to_string(traits.op_b));
    }
  }
  for (int i = 0; i < kElementTypes; ++i) {
    const GemmTraits other = with_element(traits, static_cast<DType>(i));
    if (other != traits && is_legal(config, other, arch))
      return "types: " + family + " has no such kernel of " + types_text(traits);
  }
  const GemmTraits widest = with_widest_accesses(traits);
  if (widest != traits && is_legal(config, widest, arch)) {
    return "alignment: A, B and D are aligned to " + bytes_of(traits) + " bytes, too little for this kernel of " +
           family;
  }
  return {};
}

/// The instruction that `arch` lacks: without it, the config would be illegal on Hopper too, which has most
/// instructions.
std::string refusal_of_instructions(const KernelConfig& config, const GemmTraits& traits, const ArchLimits& arch,
                                    std::string_view name) {
  const ArchLimits& hopper = arch_limits("sm_90a");
  if (!is_legal(config, traits, hopper)) return {};
  ArchLimits without = hopper;
  without.has_cp_async = arch.has_cp_async;
  if (!is_legal(config, traits, without))
    return "instructions: " + std::string(name) + " lacks cp.async and mma.m16n8k16";
  without.has_wgmma = arch.has_wgmma;
  if (!is_legal(config, traits, without)) return "instructions: " + std::string(name) + " has no wgmma";
  return {};
}

/// The architectures on which the config is legal, as a reason why it is not legal here.
std::string refusal_of_arch(const KernelConfig& config, const GemmTraits& traits, std::string_view arch) {
  std::string others;
  for (const std::string& other : known_archs()) {
    if (other != arch && is_legal(config, traits, arch_limits(other))) others += (others.empty() ? "" : ", ") + other;
  }
  return others.empty() ? others : "architecture: not for " + std::string(arch) + ", but for " + others;
}

}  // namespace

std::string refusal_of_fields(const KernelConfig& config, const GemmTraits& traits, std::string_view arch) {
  const std::vector<NumberField> fields = number_fields(config);
  for (const auto& [name, least, value] : fields) {
    if (value < least)
      return std::string(name) + ": " + std::to_string(value) + ", " + std::to_string(least) + " at least";
    if (value > kMostOfAField) {
      return std::string(name) + ": " + std::to_string(value) + ", more than the " + std::to_string(kMostOfAField) +
             " of any kernel";
    }
  }
  const auto value_or_1 = [&](std::string_view name) {
    const auto found = std::ranges::find(fields, name, &NumberField::name);
    return found == fields.end() ? 1 : std::max<std::int64_t>(found->value, 1);
  };
  const int bytes = std::max(size_bytes(traits.element), size_bytes(traits.element_b));
  const std::int64_t tiles =
      value_or_1("stages") * (value_or_1("block_m") + value_or_1("block_n")) * value_or_1("block_k") * bytes;
  const std::int64_t sums = (value_or_1("slices") - 1) * value_or_1("block_m") * value_or_1("block_n") * 4;
  const std::int64_t most = std::max(tiles, sums);
  if (most <= kMostTileBytes) return {};  // above this the bytes may exceed 32 bits
  return "shared memory: " + std::to_string(most) + " bytes per block for its " +
         (most == tiles ? "tiles, " : "sums, ") + std::to_string(arch_limits(arch).smem_per_block_bytes) + " at most";
}

std::string refusal(const KernelConfig& config, const GemmTraits& traits, std::string_view arch) {
  const ArchLimits& limits = arch_limits(arch);
  std::string reason = refusal_of_fields(config, traits, arch);
  if (!reason.empty() || is_legal(config, traits, limits)) return reason;
  if (threads(config) < 1) return "threads: 0 per block, 32 at least";  // a thread's part is larger than the block's
  const BlockResources block{.threads = threads(config), .smem_bytes = smem_bytes(config, traits)};
  reason = refusal_of_instructions(config, traits, limits, arch);
  if (reason.empty()) reason = exceeded_limit(block, limits);
  if (reason.empty()) reason = refusal_of_sm(config, traits, limits);
  if (reason.empty()) reason = refusal_of_traits(config, traits, limits);
  if (reason.empty()) reason = refusal_of_arch(config, traits, arch);
  if (!reason.empty()) return reason;
  return to_string(config) + " is not legal for " + to_string(traits) + " on " + std::string(arch);
}

}  // namespace hotgemm
