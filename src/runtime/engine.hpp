#pragma once

#include "cache/binary_cache.hpp"
#include "config/template_bundle.hpp"
#include "gpu/kernel_builder.hpp"
#include "plan/affordable.hpp"
#include "records/database.hpp"
#include "records/rejection_log.hpp"
#include "records/tune_journal.hpp"
#include "runtime/workspace_budget.hpp"

#include <hotgemm/context.hpp>

#include <atomic>
#include <filesystem>

namespace hotgemm {

/// What a Context has that no GPU is needed for: templates, cubins, records, rejections.
struct Engine {
  enum class Records {
    layers,  ///< those of the cache directory, and what lies below it
    none,    ///< the database is empty, and what is added stays in memory
  };
  /// Throws Error for bad values in the environment and unreadable template directories.
  explicit Engine(const ContextOptions& options, Records records = Records::layers);

  /// A query for `environment`, with the templates' digests as they are here.
  GpuQuery query(const Environment& environment) const;
  std::string template_digest(const KernelConfig& config) const;

  TemplateBundle bundle;
  BinaryCache cache;
  Database database;
  RejectionLog rejections;
  KernelBuilder builder;
  std::atomic<std::uint64_t> compiled{0};
  WorkspaceBudget workspace;
  WorkspaceOf workspace_of = workspace_size;  ///< tests put kernels of their own here
};

/// A journal in the user's layer of the records.
TuneJournalOptions journal_options(const ContextOptions& options);

/// Where records that ship with the library lie: installed, or in the source tree; empty if in neither.
std::filesystem::path shipped_records();

}  // namespace hotgemm
