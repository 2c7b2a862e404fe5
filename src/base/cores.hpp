#pragma once

#include <string_view>

namespace hotgemm {

/// The number of cores that this process may keep busy: the cores of its affinity mask, but no more than the CPU quota
/// of its control groups. At least 1.
int available_cores();

/// The cores that a quota allows, rounded up. `cpu_max` is the text of cgroup's file cpu.max: "400000 100000" gives 4.
/// Returns 0 for "max …", which means no limit, and for any other text.
int cores_of_quota(std::string_view cpu_max);

}  // namespace hotgemm
