#pragma once

#include "config/device_info.hpp"
#include "config/kernel_config.hpp"
#include "records/database.hpp"

#include <hotgemm/plan.hpp>
#include <hotgemm/types.hpp>

#include <optional>
#include <string>
#include <vector>

namespace hotgemm {

/// The config and launch config for a problem class, and where they came from.
struct Choice {
  KernelConfig config;
  LaunchConfig launch;
  Origin origin = Origin::estimated;
  double distance = 0;  ///< distance to the recorded class, if origin is `nearest`
  /// Time of cuBLAS's default / time of the pick, as the class's record says; 0 if it does not.
  double cublas_ratio = 0;
  friend bool operator==(const Choice&, const Choice&) = default;
};

/// Text such as "mma_… r8m, tuned" or "… nearest (0.40)".
std::string to_string(const Choice& choice);

/// The record by which problems of the class of `problem` are planned: of the class itself, or of the class without
/// demands on the order of sums, if its pick obeys them; else of the same class in the other of f16 and bf16. For a
/// batch by pointers, last of the same batch at equal distances, if its kernel finds matrices by pointers and copies
/// none. An SM limit that leaves out no SM is no part of the class.
std::optional<Found> find_record(const Workload& problem, const std::string& arch, const Database& database,
                                 const GpuQuery& query);

/// The choices without measuring, best first; never empty. The first one is used; the next ones replace it if its
/// kernel spills. If a record of the class exists, it comes first, and then its config with a second buffer if the
/// epilogue reads a matrix; if not, the configs of the near records come first whose picks the model expects to do as
/// well here, ranked by the model. A product with scales of blocks that has neither an own record nor a near one has
/// the choices by the records of bare products, as near ones and without a ratio to cuBLAS. The anchors follow, ranked
/// by the model, and without a record and an SM limit also variants of the best of them, unless the epilogue reads two
/// matrices. Choices for a long product with an epilogue are ranked anew. All choices obey the problem's order of sums
/// and its SM limit. The model knows the architecture, and the GPU if it is one of named_gpus; the launches of choices
/// without a record of their own also assume its SMs, so that prewarm without a GPU gives the same. The order of the
/// records, and so the result, also depends on the GPU model, its SMs, the driver and the toolchain of `query`, as far
/// as records name them: prewarm, without a GPU, asks for each of known_environments. An SM limit that leaves out no SM
/// of the GPU has no effect. Throws Error{not_supported} if no kernel computes the problem on `arch`, or none stays
/// within the limit.
std::vector<Choice> choose(const Workload& problem, const std::string& arch, const Database& database,
                           const GpuQuery& query);

/// The GPUs of `arch` in the records, and one GPU that no record names, each with the drivers and toolchains among
/// which the order of records may differ. Every GPU of the architecture, with any software, gets an answer that one of
/// these gets too. The last one is the GPU without records and with unknown software. Parses all records.
std::vector<Environment> known_environments(const std::string& arch, const Database& database);

/// `known`, and two more for a problem with an SM limit: a GPU where the limit leaves out no SM, and a GPU where it
/// leaves out one. GPUs that are not known get an answer that one of these gets too.
std::vector<Environment> environments_for(const Problem& problem, std::vector<Environment> known);

}  // namespace hotgemm
