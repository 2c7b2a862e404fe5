#pragma once

#include "shared/fma_config.hpp"
#include "shared/mma_config.hpp"
#include "shared/simt_config.hpp"
#include "shared/wgmma_config.hpp"
#include "shared/wmma_config.hpp"

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace hotgemm {

/// A config of any family. A family is added here, in `family_of`, and as a template.
using KernelConfig = std::variant<SimtConfig, MmaConfig, WgmmaConfig, FmaConfig, WmmaConfig>;

struct Family {
  std::string_view name;      ///< "mma"
  std::string_view config;    ///< "MmaConfig": the struct that the rendered unit names
  std::string_view header;    ///< "mma.cuh": the template that the rendered unit includes
  std::string_view function;  ///< "mma_gemm": its entry point
  std::string_view args;      ///< "GemmArgs": the struct of its parameter
  /// Its kernels wait by themselves for what precedes them in the stream, so that they may be launched before that
  /// ends.
  bool waits_for_predecessor;
  bool takes_workspace = false;  ///< its kernels have a second parameter, WorkspaceArgs; see workspace_size
};

const Family& family_of(const KernelConfig& config);
std::span<const Family> families();

/// "mma_m128_n256_k64_wm2_wn4_s3_x1_f2_e1_b1": the family, then each field's tag and value. One name per config.
std::string to_string(const KernelConfig& config);
/// Inverse of to_string; nullopt for anything else.
std::optional<KernelConfig> parse_config(std::string_view text);

int block_m(const KernelConfig& config);
int block_n(const KernelConfig& config);
int threads(const KernelConfig& config);
int smem_bytes(const KernelConfig& config, const GemmTraits& traits);
bool is_legal(const KernelConfig& config, const GemmTraits& traits, const ArchLimits& arch);

/// What does not change the cubin.
struct LaunchConfig {
  int raster_width = 8;         ///< tiles per raster group (templates/shared/tile_order.hpp)
  bool raster_along_n = false;  ///< groups of tile columns instead of rows
  bool programmatic = false;    ///< launched before what precedes the kernel in its stream has ended
  friend bool operator==(const LaunchConfig&, const LaunchConfig&) = default;
};

/// "r8m", "r4n", "r8mp": the width, the side, and whether it is programmatic.
std::string to_string(const LaunchConfig& launch);
std::optional<LaunchConfig> parse_launch(std::string_view text);
/// Whether kernels of `config` may be launched so.
bool is_legal(const LaunchConfig& launch, const KernelConfig& config);

}  // namespace hotgemm
