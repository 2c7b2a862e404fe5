#pragma once

#include "records/tuning_record.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

// What `hotgemm db` does to the files of tuning databases. None of it is needed to use one.

namespace hotgemm {

struct LintFinding {
  std::filesystem::path file;
  int line = 0;
  std::string reason;
};

/// Every line that a database would ignore, in a file or in the segments of a directory. Throws Error{io_error} where
/// there is nothing to read.
std::vector<LintFinding> lint(const std::filesystem::path& path);

struct MergeReport {
  std::size_t kept = 0;
  std::size_t superseded = 0;  ///< slower than another of the same problem, environment and templates
  std::size_t ignored = 0;     ///< lines that lint lists
};

/// Writes the records of files and directories to one file, replacing it; its content depends on the records only, not
/// on their order. Among records that may be compared the fastest stays. Throws Error{io_error}.
MergeReport merge(const std::vector<std::filesystem::path>& inputs, const std::filesystem::path& output);

struct PruneReport {
  std::size_t kept = 0;
  std::size_t dropped = 0;          ///< chosen by the caller
  std::size_t superseded = 0;       ///< as in MergeReport
  std::size_t unusable = 0;         ///< damaged, or of a config that this version does not have
  std::size_t segments_in_use = 0;  ///< left alone: a process may be appending
};

/// Compacts a user's layer into one segment without the records for which `drop` is true. Lines of a newer schema are
/// kept as they are. Safe beside other processes; killed at any point it loses nothing. Throws Error{io_error}.
PruneReport prune(const std::filesystem::path& user_directory, bool trust_shared,
                  const std::function<bool(const TuningRecord&)>& drop);

}  // namespace hotgemm
