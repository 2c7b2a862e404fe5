#pragma once

#include "cache/binary_cache.hpp"
#include "config/template_bundle.hpp"
#include "gpu/kernel_builder.hpp"
#include "plan/affordable.hpp"
#include "records/append_file.hpp"
#include "records/cublas_choices.hpp"
#include "records/database.hpp"
#include "records/problem_log.hpp"
#include "records/rejection_log.hpp"
#include "records/vetted_log.hpp"
#include "runtime/counters.hpp"
#include "runtime/workspace_budget.hpp"

#include <hotgemm/context.hpp>

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

namespace hotgemm {

/// The parts of a Context that need no GPU: templates, cubins, records, rejections.
struct Engine {
  enum class Records {
    layers,  ///< the records of the cache directory and of the layers below it
    none,    ///< the database is empty, and additions stay in memory
  };
  /// Throws Error for invalid values in the environment and unreadable template directories.
  explicit Engine(const ContextOptions& options, Records records = Records::layers);

  /// A query for `environment`, with the objective and the digests of the templates of this object.
  GpuQuery query(const Environment& environment) const;
  std::string template_digest(const KernelConfig& config) const;

  /// See Context::records_digest.
  std::string records_digest() const;

  /// The cubin of `source`, from the cache or compiled now; then it is counted, timed and logged. Throws as
  /// KernelBuilder::build does.
  Cubin build(const KernelSource& source) {
    return count(source, [&] { return builder.build(source); });
  }
  /// The cubin that `build()` returns, with the same bookkeeping.
  Cubin count(const KernelSource& source, const std::function<BuildResult()>& build);

  const Objective objective;
  const std::size_t max_plans;  ///< in each CUDA context
  TemplateBundle bundle;
  BinaryCache cache;
  Database database;
  RejectionLog rejections;
  CublasChoices cublas_choices;
  VettedLog vetted;
  LayerOptions attempts;  ///< the directories for the files of AttemptMark
  KernelBuilder builder;
  std::atomic<std::uint64_t> compiled{0};
  Counters counters;
  WorkspaceBudget workspace;
  const std::unique_ptr<ProblemLog> problem_log;  ///< nullptr: problems are not logged
  WorkspaceOf workspace_of = workspace_size;      ///< tests replace it for their own kernels
};

/// The options of files in the user's layer of the records.
LayerOptions layer_options(const ContextOptions& options);

}  // namespace hotgemm
