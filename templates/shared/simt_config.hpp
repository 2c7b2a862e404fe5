#pragma once

#include "shared/arch_limits.hpp"
#include "shared/config_field.hpp"
#include "shared/gemm_traits.hpp"
#include "shared/tile_layout.hpp"

namespace hotgemm {

/// A variant of the `simt` family (templates/simt.cuh). visit_fields says what the fields mean.
struct SimtConfig {
  int block_m = 64;
  int block_n = 64;
  int block_k = 16;
  int thread_m = 4;
  int thread_n = 4;

  /// The one list of fields, with their meanings (config_field.hpp).
  template <class Config, class Visit>
  static constexpr void visit_fields(Config& config, Visit&& visit) {
    visit(ConfigField{"block_m", "m", FieldKind::tile, "rows of D that a block computes"}, config.block_m);
    visit(ConfigField{"block_n", "n", FieldKind::tile, "columns of D that a block computes"}, config.block_n);
    visit(ConfigField{"block_k", "k", FieldKind::pipeline, "length along k of the tiles in shared memory"},
          config.block_k);
    visit(ConfigField{"thread_m", "tm", FieldKind::tile, "rows of D that a thread computes"}, config.thread_m);
    visit(ConfigField{"thread_n", "tn", FieldKind::tile, "columns of D that a thread computes"}, config.thread_n);
  }
  friend constexpr bool operator==(const SimtConfig&, const SimtConfig&) = default;

  /// The registers that the compiler uses per thread on most architectures.
  static constexpr int kEstimatedRegisters = 64;
  constexpr int threads() const { return (block_m / thread_m) * (block_n / thread_n); }
  /// Both tiles hold f32 or s32, in k-major rows of block_m and block_n; one column of padding avoids bank conflicts.
  constexpr int smem_bytes() const { return block_k * (block_m + 1 + block_n + 1) * 4; }
};

/// True if the family computes with these types. Sums of s8 are s32. D has the type of A,
/// or a wider one.
constexpr bool has_simt_types(const GemmTraits& t) {
  if (!is_wide_float(t.element)) return has_word_types(t);
  const bool is_d = t.element_d == t.element || t.element_d == DType::f32;
  return t.accumulator == DType::f32 && t.element_b == t.element && is_d;
}

constexpr bool is_legal(const SimtConfig& c, const GemmTraits& t, const ArchLimits& arch) {
  if (c.block_m < 1 || c.block_n < 1 || c.block_k < 1 || c.thread_m < 1 || c.thread_n < 1) return false;
  if (c.block_m > 256 || c.block_n > 256 || c.block_k > 64) return false;
  if (c.block_m % c.thread_m != 0 || c.block_n % c.thread_n != 0) return false;
  if (c.thread_m * c.thread_n > 64) return false;
  if (c.threads() < 32 || c.threads() > kMaxThreadsPerBlock || c.threads() % 32 != 0) return false;
  if (!has_simt_types(t)) return false;
  if (t.epilogue.is_gated() && c.thread_n % 2 != 0) return false;  // a thread has both columns of an element of D
  return c.smem_bytes() <= min_of(arch.smem_per_block_bytes, 48 << 10);
}

}  // namespace hotgemm
