#include "base/rank.hpp"

#include "base/text.hpp"

#include <hotgemm/error.hpp>

#include <array>
#include <charconv>
#include <string_view>
#include <system_error>

namespace hotgemm {
namespace {

struct Launcher {
  const char* name;
  const char* rank;
  std::array<const char*, 2> sizes;  ///< the first that is set counts
  const char* local;
};

// From the innermost to the outermost: srun starts mpirun starts torchrun, and each passes on the variables of the
// former. A step of Slurm may have fewer tasks than its job.
constexpr std::array kLaunchers{
    Launcher{"torchrun", "RANK", {"WORLD_SIZE"}, "LOCAL_RANK"},
    Launcher{"Open MPI", "OMPI_COMM_WORLD_RANK", {"OMPI_COMM_WORLD_SIZE"}, "OMPI_COMM_WORLD_LOCAL_RANK"},
    Launcher{"MVAPICH", "MV2_COMM_WORLD_RANK", {"MV2_COMM_WORLD_SIZE"}, "MV2_COMM_WORLD_LOCAL_RANK"},
    Launcher{"MPI", "PMI_RANK", {"PMI_SIZE"}, "MPI_LOCALRANKID"},
    Launcher{"Slurm", "SLURM_PROCID", {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, "SLURM_LOCALID"},
    Launcher{"Kubernetes", "JOB_COMPLETION_INDEX", {"HOTGEMM_JOB_SIZE"}, nullptr},
};

int number_of(const char* name, std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 0) return value;
  throw Error(ErrorCode::invalid_argument, std::string(name) + " is " + in_quotes(text) + ": expected a number");
}

}  // namespace

std::optional<Rank> rank_from(const Variables& variables) {
  const auto find = [&](const char* name) {
    const char* const value = name != nullptr ? variables(name) : nullptr;
    return value != nullptr && *value != '\0' ? value : nullptr;
  };
  const Launcher* without_size = nullptr;
  for (const Launcher& launcher : kLaunchers) {
    const char* const index = find(launcher.rank);
    if (index == nullptr) continue;
    const char* size_name = launcher.sizes[0];
    if (find(size_name) == nullptr && find(launcher.sizes[1]) != nullptr) size_name = launcher.sizes[1];
    const char* const size = find(size_name);
    if (size == nullptr) {
      if (without_size == nullptr) without_size = &launcher;
      continue;
    }
    Rank rank{.index = number_of(launcher.rank, index), .count = number_of(size_name, size), .launcher = launcher.name};
    if (rank.index >= rank.count) {
      throw Error(ErrorCode::invalid_argument, std::string(launcher.rank) + " is " + index + ", but " + size_name +
                                                   " is " + size + ": ranks are counted from 0");
    }
    if (const char* const local = find(launcher.local)) rank.local = number_of(launcher.local, local);
    return rank;
  }
  if (without_size == nullptr) return std::nullopt;
  throw Error(ErrorCode::invalid_argument, std::string(without_size->rank) + " is set, but " + without_size->sizes[0] +
                                               ", the number of processes, is not");
}

}  // namespace hotgemm
