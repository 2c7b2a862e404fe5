#pragma once

#include "command/ladder_run.hpp"

#include <hotgemm/types.hpp>

#include <string>
#include <vector>

namespace hotgemm::command {

/// The times of PyTorch's product of a problem.
struct TorchTimes {
  std::vector<double> us;  ///< microseconds per launch, by round
  std::string failure;     ///< why there are none
};

struct TorchAnswer {
  std::string version;            ///< of PyTorch; empty if it did not start
  std::vector<TorchTimes> times;  ///< by problem
};

/// Times PyTorch's products of `problems` in one process of `python`, alone on the GPU with the index `device`, with
/// the rounds of `timing`, over operands that are never in L2. A product that is wrong has no times. Problems are those
/// of rungs.
TorchAnswer time_torch(const std::string& python, const std::vector<Workload>& problems, const LadderTiming& timing,
                       std::int64_t l2_bytes, int device);

}  // namespace hotgemm::command
