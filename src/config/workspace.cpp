#include "config/workspace.hpp"

#include "config/repack.hpp"

namespace hotgemm {

// A family that splits a sum among blocks states its bytes here, for the largest m of the problem's class.
WorkspaceSize workspace_size(const KernelConfig& /*config*/, const LaunchConfig& launch, const Problem& problem) {
  return {.scratch_bytes = repacked_bytes(launch, problem)};
}

}  // namespace hotgemm
