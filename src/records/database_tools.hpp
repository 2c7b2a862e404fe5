#pragma once

#include "records/tuning_record.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// The operations of `hotgemm db` on the files of tuning databases. Using a database needs none of them.

namespace hotgemm {

struct LintFinding {
  std::filesystem::path file;
  std::size_t line = 0;
  std::string reason;
};

/// Lists every line that a database would ignore, in a file or in the segments of a directory. Throws as
/// read_named does.
std::vector<LintFinding> lint(const std::filesystem::path& path);

struct MergeReport {
  std::size_t kept = 0;
  std::size_t superseded = 0;  ///< records slower than another with the same problem, environment and templates
  std::size_t ignored = 0;     ///< lines that lint lists
};

/// Writes the records of files and directories to one file. A file that is there keeps its records, as if it were an
/// input. The result depends only on the records, not on their order. Of records that may be compared, only the
/// fastest is kept. Lines of a newer schema are kept unchanged, and count as kept. Of several merges into one file at
/// once, none loses the records of another. Throws Error{invalid_argument}, and changes nothing, if no line of the
/// inputs is a record but others are there, or if the file that is there has a line that is not a record;
/// Error{io_error} if the file cannot be written.
MergeReport merge(const std::vector<std::filesystem::path>& inputs, const std::filesystem::path& output);

/// A problem class on a GPU, with the records of two places for it.
struct RecordDifference {
  std::optional<TuningRecord> first;   ///< nullopt: only the second place has one
  std::optional<TuningRecord> second;  ///< nullopt: only the first place has one
  const TuningRecord& any() const { return first ? *first : *second; }
};

struct DiffReport {
  std::vector<RecordDifference> differences;  ///< by class, GPU and objective: one record is missing, or picks differ
  std::size_t same = 0;                       ///< classes whose picks are the same
  std::size_t ignored = 0;                    ///< lines that lint lists
};

/// Compares the picks of two files or directories: for each class, GPU and objective the latest record, a final one
/// before a provisional one. Throws as read_named does, and Error{invalid_argument} if no line of a place is a record
/// but others are there.
DiffReport diff(const std::filesystem::path& first, const std::filesystem::path& second);

struct PruneReport {
  std::size_t kept = 0;
  std::size_t dropped = 0;          ///< records for which `drop` is true
  std::size_t superseded = 0;       ///< as in MergeReport
  std::size_t unusable = 0;         ///< lines that are damaged, or of an older schema
  std::size_t segments_in_use = 0;  ///< not changed, because a process may be appending to them
};

/// Compacts a user's layer into one segment, without the records for which `drop` is true. Lines of a newer schema, and
/// undamaged lines that this version cannot use, are kept unchanged, and count as kept. Other processes may use the
/// layer meanwhile, and a kill at any point loses no record. Throws Error{io_error}.
PruneReport prune(const std::filesystem::path& user_directory, bool trust_shared,
                  const std::function<bool(const TuningRecord&)>& drop);

}  // namespace hotgemm
