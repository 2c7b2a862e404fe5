#pragma once

#include "config/families.hpp"
#include "config/launch_config.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace hotgemm {

/// The name, such as "mma_m128_n256_k64_wm2_wn4_s3_x1_f2_e1_b1": the family, then the tag and value of each field. Each
/// config has one name.
std::string to_string(const KernelConfig& config);
/// Inverse of to_string; nullopt for any other text.
std::optional<KernelConfig> parse_config(std::string_view text);

int block_m(const KernelConfig& config);
int block_n(const KernelConfig& config);
int threads(const KernelConfig& config);
/// The number of blocks that must be resident together; 1 for families whose configs do not set it.
int blocks_per_sm(const KernelConfig& config);
/// True if several blocks compute a tile of `config`, each a part of k.
bool splits_k(const KernelConfig& config);
/// True if threads of the kernel load operands whose rows begin at no multiple of 16 bytes.
bool loads_by_threads(const KernelConfig& config);

/// The form in which kernels of a config read an operand. Launches copy an operand that is stored otherwise.
struct OperandForm {
  int alignment = 1;        ///< of its address and rows, in bytes
  bool is_k_major = false;  ///< k must be contiguous
};
/// The form for elements that are multiplied as `element`, in kernels with `epilogue`.
OperandForm operand_form(const KernelConfig& config, DType element, Operand operand, const Epilogue& epilogue = {});
int smem_bytes(const KernelConfig& config, const GemmTraits& traits);
bool is_legal(const KernelConfig& config, const GemmTraits& traits, const ArchLimits& arch);

/// True if kernels of `config` may be launched with `launch`.
bool is_legal(const LaunchConfig& launch, const KernelConfig& config);

}  // namespace hotgemm
