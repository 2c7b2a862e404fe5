#pragma once

#include "gpu/driver.hpp"

namespace hotgemm {

/// Throws Error{not_supported} if contexts on GPU `ordinal` are shared through MPS and another process has one, or if
/// that is unknown. A kernel that faults would end the work of the other processes, and their work would disturb the
/// timing. Call it before this process has a context.
void refuse_other_mps_clients(const Driver& driver, int ordinal);

}  // namespace hotgemm
