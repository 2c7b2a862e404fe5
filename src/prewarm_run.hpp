#pragma once

#include "runtime/engine.hpp"

#include <hotgemm/context.hpp>
#include <hotgemm/error.hpp>

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace hotgemm {

/// A problem and an architecture to prepare it for.
struct PrewarmTask {
  Workload problem;
  std::string arch;
};

/// The choices of plans for a task, best first, on each GPU whose plans may differ.
struct TaskChoices {
  std::vector<std::vector<Choice>> choices;
  std::optional<Error> refusal;  ///< why no kernel computes the task; nothing if one does
};

/// `known` is the result of known_environments for the task's architecture.
TaskChoices choices_of(const Engine& engine, const PrewarmTask& task, const std::vector<Environment>& known);

struct PrewarmRunOptions {
  enum class Unsupported {
    is_thrown,    ///< a task that no kernel computes ends the run before anything is compiled
    is_an_entry,  ///< it becomes a failed entry
  };
  Unsupported unsupported = Unsupported::is_thrown;
  int jobs = 0;
  bool candidates = false;
  bool looks_only = false;   ///< compiles and stores nothing; a kernel that is not in the cache fails
  bool fills_layer = false;  ///< the user's layer also gets the kernels that lie in a layer below it
  /// Called for each task whose kernels were chosen, before anything is compiled; false ends the run.
  std::function<bool(std::size_t done, std::size_t total)> planning;
  /// As in PrewarmOptions, over all tasks, with the symbol of the kernel that was done last.
  std::function<bool(std::size_t done, std::size_t total, const std::string& kernel)> progress;
};

/// The failure of a kernel that is not in the cache, if nothing is compiled.
inline constexpr const char* kNotInCache = "not in the cache";

struct PrewarmRunResult {
  PrewarmReport report;
  std::vector<Identity> kernels;  ///< those that were found or compiled
};

/// Finds or compiles the kernels that plans under Policy::cached_only need for the tasks. Throws as
/// Context::prewarm does.
PrewarmRunResult prewarm(Engine& engine, std::span<const PrewarmTask> tasks, const PrewarmRunOptions& options);

}  // namespace hotgemm
