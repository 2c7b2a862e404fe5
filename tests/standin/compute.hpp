#pragma once

#include "shared/check_data.hpp"
#include "shared/gemm_args.hpp"
#include "shared/repack_args.hpp"
#include "shared/workspace_args.hpp"
#include "standin/device_memory.hpp"
#include "standin/kernel_symbol.hpp"
#include "standin/objects.hpp"
#include "standin/standin.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace hotgemm::standin {

/// The memory that a kernel in one context may access.
struct AddressSpace {
  const DeviceMemory& memory;
  std::uint64_t context;
  bool reaches_host_memory = false;

  bool contains(std::uint64_t address, std::uint64_t bytes) const {
    return reaches_host_memory ? address != 0 || bytes == 0 : memory.contains(context, address, bytes);
  }
};

/// The end of a kernel, as the device would report it.
enum class Outcome { good, illegal_address, misaligned_address };

/// D = alpha * op(A) * op(B) + beta * C with f32 accumulation, and the epilogue of a fused kernel, rounded to nearest
/// even: product number `product` of the batch of `node`. `salt` selects the element that a corruption changes.
Outcome run_gemm(const GemmKernel& kernel, const KernelNode& node, unsigned product, const AddressSpace& space,
                 Corruption corruption, unsigned salt);
/// The effect of a kernel that splits the sum on its workspace: partial sums in the scratch, and counters that are zero
/// again. `violations` gets a line if a counter is not zero before: on a GPU the kernel would not end.
Outcome run_split(const GemmKernel& kernel, const KernelNode& node, const AddressSpace& space,
                  std::vector<std::string>& violations);
/// The kernel of templates/repack.cuh.
Outcome run_repack(const RepackArgs& args, const AddressSpace& space);
/// The kernels of templates/check.cuh.
Outcome run_fill(const FillArgs& args, const AddressSpace& space);
Outcome run_check(const CheckArgs& args, const AddressSpace& space);
Outcome run_digest(const DigestArgs& args, const AddressSpace& space);
Outcome run_pointwise(const PointwiseArgs& args, const AddressSpace& space);

}  // namespace hotgemm::standin
