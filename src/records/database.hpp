#pragma once

#include "config/identity.hpp"
#include "records/database_files.hpp"
#include "records/record_text.hpp"
#include "records/size_index.hpp"
#include "records/text_table.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

struct DatabaseOptions {
  std::filesystem::path user_directory;                 ///< segments go to its v1/db; empty: records stay in memory
  std::vector<std::filesystem::path> read_only_layers;  ///< with *.jsonl directly or in v1/db; the first has priority
  std::filesystem::path shipped;                        ///< the lowest layer; may be empty
  std::optional<unsigned> shipped_owner;                ///< the library's owner, who may own that layer too
  bool writable = true;                                 ///< false: additions stay in memory
  bool trust_shared = false;  ///< accept a layer that other users can write to; they can then choose configs
  Report warn;                ///< receives warnings, from any thread, outside of locks; may be empty
};

/// The GPU and software for which records are looked up. Empty fields are unknown and not compared.
struct GpuQuery {
  Environment environment;
  /// Returns the digest of the current templates of the family of a config.
  std::function<std::string(const KernelConfig&)> template_digest;
  double power_limit_w = 0;  ///< of the GPU of this environment, now; 0 if it is unknown, and then not compared
  Objective objective = Objective::speed;  ///< whose records are preferred
};

enum class Freshness {
  current,
  /// The driver, toolchain or templates have changed since the measurement, or the power limit since a measurement over
  /// blocks. Usable until the next tuning.
  stale,
};

Freshness freshness(const TuningRecord& record, const GpuQuery& query);
/// True if a programmatic launch was picked in chains of itself, where it looks too fast: before such launches were
/// timed behind a foreign kernel.
bool is_picked_in_chain(const TuningRecord& record);
/// A record among those of its class, with the text of its line.
struct RankedRecord {
  const StoredRecord* stored;
  std::string_view text;
  int layer = 0;  ///< 0 is the top
};
/// The record that Database::find takes of `records`, all of the class and the GPU of the query; nullptr if there
/// are none.
const RankedRecord* preferred(std::span<const RankedRecord> records, const GpuQuery& query);
/// The changes that make the record stale, for people: "driver, power limit 700 W, now 600 W". Empty for a current
/// record.
std::string why_stale(const TuningRecord& record, const GpuQuery& query);

struct Found {
  TuningRecord record;
  Freshness freshness = Freshness::current;
  std::string layer;  ///< directory of the layer; "memory" for records added to a database without a user directory
};

struct Neighbour {
  Found found;
  double distance =
      0;  ///< distance √(Σ log2²(ratio of sizes)) over the classes' m, n and k: a factor of two in one size gives 1
};

/// The tuning records of all layers: the user's layer first, then the read-only layers, then the shipped one.
///
/// Opening reads the files and indexes the lines by the problem class at their start. The first `nearest` for a layout
/// and type indexes the classes of these by their sizes. A line is parsed when its class is first looked up. A line
/// that is not a legal record is dropped alone and counted; only the first one causes a warning. Records that other
/// processes add after opening are seen after `reload`. Thread-safe: look-ups wait only for changes, and for another
/// look-up that is parsing lines or searching neighbours.
class Database {
 public:
  explicit Database(DatabaseOptions options);

  /// The record for the class of `problem` on the GPU of the query: of its model and its number of SMs. A record of
  /// another GPU of the architecture counts only if the query names no model.
  ///
  /// Records are preferred in this order: the objective of the query to the other one; a kernel that this version would
  /// run, by its templates, to another one; an upper layer to a lower one; a current record to a stale one; a final one
  /// to a provisional one; the latest measurement. Templates come before layers, because a new version brings its own
  /// records with its templates. The driver, the toolchain and the power limit come after layers: a measurement on the
  /// user's own machine says more about it than another machine's, whatever driver either had. Of the records with the
  /// same conditions as the latest one (same m, environment, templates, measure, objective, cuBLAS) the one with the
  /// least cost (cost_of) is returned.
  std::optional<Found> find(const Workload& problem, const GpuQuery& query) const;

  /// Up to `max` classes that differ from `problem` only in sizes, so that their configs are legal for it, and lie no
  /// further away than `farthest`; the nearest first, including the class of `problem` itself. Each comes with the
  /// record that find would return; if there is none, with the one of another GPU of the architecture. Which GPU that
  /// is, and how many SMs it has, does not matter, so that all GPUs without records get the same neighbours.
  std::vector<Neighbour> nearest(const Workload& problem, const GpuQuery& query, int max,
                                 double farthest = std::numeric_limits<double>::infinity()) const;

  /// Makes `record` visible to this object at once and appends it to this object's segment. A disk error causes one
  /// warning, and later records are not written. Throws Error{invalid_argument} for a record that cannot be stored, for
  /// example if its config is not legal for its architecture.
  void add(const TuningRecord& record);
  /// The records that `add` has kept in memory only, and the reason for the last of them.
  struct Unstored {
    std::size_t records = 0;
    std::string reason;
  };
  Unstored unstored() const;

  /// Reads all files again. Records that this object has added stay, whether they are on disk or not.
  void reload();
  /// The number of reloads so far. A look-up that was begun before the last of them may have seen older records.
  std::uint64_t reloads() const noexcept { return reloads_.load(); }

  struct Forgotten {
    std::size_t records = 0;          ///< that were in memory
    std::size_t segments_in_use = 0;  ///< as in PruneReport
  };
  /// Removes the records of the class of `problem` from the top layer: from memory, then by `prune` from the files.
  /// This object's segment is among these; the next `add` begins another one. Throws Error{io_error} if the files
  /// cannot be changed.
  Forgotten forget(const Workload& problem);

  /// Every record, from the top layer to the lowest.
  std::vector<Found> all(const GpuQuery& query = {}) const;

  /// Adds every record that counts, in an order that does not depend on files: by class, and within it the layers that
  /// have records of the class, from the top. Databases with the same fields give the same answers.
  void add_digest_fields(IdentityBuilder& builder) const;

  /// The number of lines found so far that are not records; `all` reads every line. Lines of a newer schema are not
  /// counted.
  std::size_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

  /// The directories and files that could not be read, or not be trusted, when the layers were opened. `warn` named
  /// each of them.
  std::size_t left_out() const { return left_out_; }

  /// The work of look-ups so far.
  struct Work {
    std::uint64_t lines_parsed = 0;
    std::uint64_t classes_indexed = 0;  ///< by their sizes, for `nearest`; a class of two architectures counts twice
    std::uint64_t classes_visited = 0;  ///< whose distance `nearest` has computed
  };
  Work work() const { return {lines_parsed_, classes_indexed_, classes_visited_}; }

 private:
  /// The GPUs whose records count: the one that the query names, or all of its architecture.
  enum class Gpus { of_query, of_arch };
  enum class LineState : std::uint8_t { unread, good, dropped };
  static constexpr std::uint32_t kNone = TextTable::kNone;
  /// A line of a file, or of a record that was added here. The lines of a class are a list, and the index of the first
  /// one stands for the class. Opening writes one for each record, so it is small.
  struct Line {
    std::string_view text;
    std::uint32_t next = kNone;  ///< the next line of the class
    std::uint32_t last = kNone;  ///< the last line of the class, if this is the first; else kNone
    std::uint32_t file = kNone;  ///< index into files_; kNone for a record that was added here
    std::int16_t layer = 0;
    /// Changes from unread under reading_. A thread that finds another state sees what was parsed.
    LineState state = LineState::unread;
    std::unique_ptr<StoredRecord> stored;  ///< set if state is good
  };
  /// The classes that differ only in sizes, by the architectures of their lines. The empty one stands for lines that
  /// name none.
  using Neighbourhood = std::map<std::string, SizeIndex, std::less<>>;

  void open_layer(std::string name, std::vector<DatabaseFile> files);
  void index_file(std::size_t file, std::size_t layer);
  void append_line(std::string_view problem_class, Line line);
  void append_added(std::string text, std::unique_ptr<StoredRecord> stored);
  std::string_view class_at(std::uint32_t first) const { return leading_class(lines_[first].text); }
  std::uint32_t find_class(std::string_view text) const;
  template <class Visit>
  void for_each_line_of(std::uint32_t first, const Visit& visit) const;
  template <class Visit>
  void for_each_class(const Visit& visit) const;
  bool has_in_top_layer(std::string_view text) const;
  Neighbourhood& neighbourhood(std::string_view rest) const;
  void index_line(std::uint32_t first, std::string_view problem_class, std::string_view line);
  void read_line(Line& line, std::string& warning) const;
  void read_class(std::uint32_t first, std::string& warning) const;
  void drop(std::string_view text, std::size_t file, const std::string& reason, std::string& warning) const;
  std::optional<Found> best_of(std::uint32_t first, const GpuQuery& query, Gpus gpus) const;
  Found found(const TuningRecord& record, int layer, const GpuQuery& query) const;
  void warn(const std::string& message) const;

  DatabaseOptions options_;
  std::vector<std::string> layers_;
  std::vector<DatabaseFile> files_;
  std::mutex rereading_;             ///< held by reload and forget, which would undo each other; taken first
  mutable std::shared_mutex mutex_;  ///< guards the members below, but for the states of lines
  mutable std::mutex reading_;       ///< guards the states of lines that are unread, taken after mutex_
  mutable std::mutex searching_;     ///< guards neighbourhoods_ while mutex_ is shared, taken after it
  mutable std::vector<Line> lines_;
  TextTable classes_;
  /// By the text of a class without its sizes, those that `nearest` has asked for.
  mutable std::map<std::string, Neighbourhood, std::less<>> neighbourhoods_;
  std::deque<std::string> added_;
  std::optional<Segment> segment_;
  bool disk_is_good_ = false;
  Unstored unstored_;
  std::atomic<std::uint64_t> reloads_{0};
  mutable std::atomic<std::size_t> dropped_{0};
  std::atomic<std::size_t> left_out_{0};
  mutable std::atomic<std::uint64_t> lines_parsed_{0}, classes_indexed_{0}, classes_visited_{0};
};

}  // namespace hotgemm
