#pragma once

#include <string_view>

namespace hotgemm {

/// How many cores this process may keep busy: those it may run on, and no more than its control groups' quota of time
/// pays for. At least 1.
int available_cores();

/// The cores that a quota pays for, rounded up, as in cgroup's file cpu.max: "400000 100000" is 4. 0 for "max …", which
/// is no limit, and for anything else.
int cores_of_quota(std::string_view cpu_max);

}  // namespace hotgemm
