#include "emulate/device.hpp"

#include "emulate/block.hpp"

#include <hotgemm/error.hpp>

#include <fmt/format.h>

#include <memory>
#include <numeric>
#include <utility>
#include <vector>

namespace hotgemm::emulate {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int kMaxSharedBytes = 227 << 10;
constexpr std::uint32_t kMaxClusterBlocks = 16;

void validate(const LaunchShape& s) {
  const bool is_good = s.threads_per_block >= 1 && s.threads_per_block <= kMaxThreads && s.shared_bytes >= 0 &&
                       s.shared_bytes <= kMaxSharedBytes && s.blocks_per_cluster >= 1 &&
                       s.blocks_per_cluster <= kMaxClusterBlocks && s.blocks % s.blocks_per_cluster == 0;
  if (is_good) return;
  throw Error(ErrorCode::invalid_argument,
              fmt::format("launch {} blocks of {} threads with {} bytes of shared memory, {} to a cluster: no GPU "
                          "takes that",
                          s.blocks, s.threads_per_block, s.shared_bytes, s.blocks_per_cluster));
}

/// Decides whether a waiting cluster goes on, or one of the `unbegun` clusters begins. A third of the seeds runs each
/// cluster to its end; with the others many live at the same time.
bool resumes_waiting(Grid& grid, std::size_t unbegun, std::size_t waiting) {
  constexpr std::size_t kMostWaiting = 24;
  if (unbegun == 0 || waiting >= kMostWaiting || grid.seed % 3 == 0) return true;
  return grid.random.below(8) == 0;
}

}  // namespace

LaunchReport Device::launch(const LaunchShape& shape, const std::function<void()>& kernel) {
  validate(shape);
  FindingLog log;
  LaunchReport report;
  Grid grid{.memory = memory_,
            .log = log,
            .counters = report.counters,
            .stacks = StackPool::of_this_thread(),
            .kernel = kernel,
            .blocks = shape.blocks,
            .blocks_per_cluster = shape.blocks_per_cluster,
            .threads_per_block = shape.threads_per_block,
            .shared_bytes = shape.shared_bytes,
            .seed = shape.seed,
            .random = Random(shape.seed),
            .counts_accesses = shape.counts_accesses};
  std::vector<std::uint32_t> clusters(shape.blocks / shape.blocks_per_cluster);
  std::iota(clusters.begin(), clusters.end(), 0u);
  std::vector<std::unique_ptr<Cluster>> waiting;  // begun, and not ended: a thread of each lets others run
  while (!clusters.empty() || !waiting.empty()) {
    if (!waiting.empty() && resumes_waiting(grid, clusters.size(), waiting.size())) {
      std::swap(waiting[grid.random.below(static_cast<std::uint32_t>(waiting.size()))], waiting.back());
      if (waiting.back()->run()) waiting.pop_back();
      continue;
    }
    std::swap(clusters[grid.random.below(static_cast<std::uint32_t>(clusters.size()))], clusters.back());
    waiting.push_back(std::make_unique<Cluster>(grid, clusters.back() * shape.blocks_per_cluster));
    if (waiting.back()->run()) waiting.pop_back();
    clusters.pop_back();
  }
  memory_.forget_accesses();
  report.findings = log.findings();
  return report;
}

}  // namespace hotgemm::emulate
