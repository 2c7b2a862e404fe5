#pragma once

#include "records/append_file.hpp"

#include <hotgemm/types.hpp>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hotgemm {

/// The outcome of one problem.
struct JournalEntry {
  enum class Status {
    done,
    partial,  ///< the search was stopped early; its best result is recorded
    failed,
  };
  Status status = Status::done;
  std::string reason;  ///< set if status is failed; cut to 256 bytes
  friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

/// "done", "partial", "failed".
std::string_view to_string(JournalEntry::Status status);

/// 64 hex digits that identify one piece of work: `problems` in their order, `options`, and the GPU model.
std::string journal_digest(std::span<const Workload> problems, std::string_view options, const std::string& gpu,
                           const std::string& arch);

/// The problems that a run has finished, so that a later run can continue it. The journal has a line per problem; the
/// last line of a problem counts. Damaged and incomplete lines are ignored: those problems are done again. Not
/// thread-safe.
class TuneJournal {
 public:
  /// Opens the journal of `digest` in v1/tune. With `resume`, it keeps the entries of an earlier run; otherwise it
  /// starts empty. A disk error causes one warning, and the journal then stays in memory.
  TuneJournal(LayerOptions options, const std::string& digest, bool resume);

  /// The entry for `problem`; nullopt if no run has finished it.
  std::optional<JournalEntry> status(const Workload& problem) const;

  /// Writes the entry to disk before it returns, but without fsync: a power cut may lose it.
  void add(const Workload& problem, JournalEntry entry);

 private:
  void read(std::string_view text);
  void lose_disk(const std::string& trouble);

  Report warn_;
  std::optional<AppendFile> file_;
  std::map<std::string, JournalEntry> entries_;  // keyed by the problem's text
};

}  // namespace hotgemm
