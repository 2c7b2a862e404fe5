#pragma once

#include "records/append_file.hpp"

#include <hotgemm/types.hpp>

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace hotgemm {

/// How a problem fared.
struct JournalEntry {
  enum class Status {
    done,
    partial,  ///< the search was cut short; its best is recorded
    failed,
  };
  Status status = Status::done;
  std::string reason;  ///< of failed; kept to 256 bytes
  friend bool operator==(const JournalEntry&, const JournalEntry&) = default;
};

/// "done", "partial", "failed".
std::string_view to_string(JournalEntry::Status status);

using TuneJournalOptions = LayerOptions;

/// 64 hex digits that name one piece of work: `problems` in their order, as `options` say, on a GPU model.
std::string journal_digest(std::span<const Workload> problems, std::string_view options, const std::string& gpu,
                           const std::string& arch);

/// What a run over many problems has finished, so that it can be gone on with: a line per problem, of which the last
/// counts. Lines that are damaged or were cut off by the end of their writer say nothing: those problems are done
/// again. Not thread-safe.
class TuneJournal {
 public:
  /// The journal of `digest`, in v1/tune: as an earlier run left it if `resume`, else begun afresh. Trouble with the
  /// disk is one warning, and the journal is kept in memory from then on.
  TuneJournal(TuneJournalOptions options, const std::string& digest, bool resume);

  /// nullopt for a problem that no run has finished.
  std::optional<JournalEntry> status(const Workload& problem) const;

  /// On disk when it returns, though not beyond a loss of power.
  void add(const Workload& problem, JournalEntry entry);

 private:
  void read(std::string_view text);
  void lose_disk(const std::string& trouble);

  Report warn_;
  std::optional<AppendFile> file_;
  std::map<std::string, JournalEntry> entries_;  // by the problem's text
};

}  // namespace hotgemm
