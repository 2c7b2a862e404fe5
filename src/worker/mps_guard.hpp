#pragma once

#include "gpu/driver.hpp"

namespace hotgemm {

/// Throws Error{not_supported} where contexts on GPU `ordinal` are shared through MPS and another process has one, or
/// it cannot be told that none has: a kernel that faults would take the others' work with it, and theirs would disturb
/// the timing. To be called before this process has a context of its own.
void refuse_other_mps_clients(const Driver& driver, int ordinal);

}  // namespace hotgemm
