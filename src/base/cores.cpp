#include "base/cores.hpp"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

namespace hotgemm {
namespace {

namespace fs = std::filesystem;

int cores_of_affinity() {
  cpu_set_t cores;
  if (::sched_getaffinity(0, sizeof cores, &cores) == 0) return CPU_COUNT(&cores);
  return static_cast<int>(std::thread::hardware_concurrency());  // the machine has more cores than cpu_set_t has bits
}

/// The control group of this process, such as "/user.slice/a". In a container, whose group is the root, this is "/".
std::string control_group() {
  constexpr std::string_view kUnified = "0::";
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    if (line.starts_with(kUnified)) return line.substr(kUnified.size());
  }
  return {};
}

/// The smallest CPU quota of this process's group and of all its parents, in cores; 0 if none of them has a quota.
int cores_of_control_groups() {
  const fs::path root = "/sys/fs/cgroup";
  int fewest = 0;
  for (fs::path group = fs::path(control_group()).relative_path();; group = group.parent_path()) {
    std::ifstream file(root / group / "cpu.max");
    std::string line;
    const int cores = std::getline(file, line) ? cores_of_quota(line) : 0;
    if (cores > 0 && (fewest == 0 || cores < fewest)) fewest = cores;
    if (group.empty()) return fewest;
  }
}

}  // namespace

int cores_of_quota(std::string_view cpu_max) {
  long long quota = 0, period = 0;
  const char* end = cpu_max.data() + cpu_max.size();
  const auto [rest, bad_quota] = std::from_chars(cpu_max.data(), end, quota);
  if (bad_quota != std::errc() || rest == end) return 0;
  const auto [ignored, bad_period] = std::from_chars(rest + 1, end, period);
  if (bad_period != std::errc() || quota <= 0 || period <= 0) return 0;
  return static_cast<int>(std::min((quota - 1) / period + 1, 1'000'000LL));
}

int available_cores() {
  const int cores = std::max(cores_of_affinity(), 1), paid = cores_of_control_groups();
  return paid > 0 ? std::min(cores, paid) : cores;
}

}  // namespace hotgemm
