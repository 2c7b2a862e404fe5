#pragma once

#include <functional>
#include <optional>
#include <string>

namespace hotgemm {

/// The place of this process among those of a job.
struct Rank {
  int index = 0;
  int count = 1;
  int local = -1;        ///< its number among the processes of its machine; -1: unknown
  std::string launcher;  ///< "Open MPI"
};

/// The value of an environment variable, or nullptr. An empty value means the same.
using Variables = std::function<const char*(const char* name)>;

/// The rank that a launcher has put into the environment: torchrun, an MPI, Slurm, or an indexed job of Kubernetes,
/// whose size is in HOTGEMM_JOB_SIZE. The innermost launcher counts: torchrun within mpirun within Slurm. nullopt if
/// there is none. Throws Error{invalid_argument} for values that are no rank, and for a rank without a size.
std::optional<Rank> rank_from(const Variables& variables);

}  // namespace hotgemm
