#pragma once

#include "config/kernel_config.hpp"
#include "config/kernel_source.hpp"
#include "config/template_bundle.hpp"
#include "shared/ceiling_args.hpp"

#include <string>
#include <string_view>

namespace hotgemm {

/// The name of the kernel that `render` gives.
std::string kernel_symbol(const KernelConfig& config, const GemmTraits& traits);

/// The translation unit of one GEMM kernel for `arch` ("sm_90a"). Equal arguments give equal bytes on every machine.
KernelSource render(const KernelConfig& config, const GemmTraits& traits, std::string_view arch,
                    const TemplateBundle& bundle);

/// The unit with the kernels that fill and check data (templates/check.cuh): hotgemm_fill, hotgemm_check and
/// hotgemm_digest. It also has hotgemm_pointwise, the foreign kernel that programmatic launches are timed behind.
KernelSource render_check(std::string_view arch, const TemplateBundle& bundle);

/// The unit with the kernel that repacks operands (templates/repack.cuh), which all problems share: hotgemm_repack. For
/// sm_90 and later.
KernelSource render_repack(std::string_view arch, const TemplateBundle& bundle);

/// The unit of the kernel that measures the tensor cores' rate (templates/mma_ceiling.cuh,
/// templates/wgmma_ceiling.cuh).
KernelSource render_ceiling(const CeilingKind& kind, std::string_view arch, const TemplateBundle& bundle);

}  // namespace hotgemm
