#pragma once

#include "records/database_files.hpp"
#include "records/record_text.hpp"

#include <atomic>
#include <deque>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hotgemm {

struct DatabaseOptions {
  std::filesystem::path user_directory;                 ///< segments go to its v1/db; empty: kept in memory only
  std::vector<std::filesystem::path> read_only_layers;  ///< with *.jsonl directly or in v1/db; the first one wins
  std::filesystem::path shipped;                        ///< the lowest layer, trusted as the library is; may be empty
  bool writable = true;                                 ///< false: what is added stays in memory
  bool trust_shared = false;  ///< accept a user's layer that others own or write to; makes them able to choose configs
  Report warn;                ///< receives warnings, from any thread, outside of locks; empty drops them
};

/// Who asks. Fields that are empty are not known, and not compared.
struct GpuQuery {
  Environment environment;
  /// The digest of the templates of a config's family as they are now.
  std::function<std::string(const KernelConfig&)> template_digest;
};

enum class Freshness {
  current,
  stale,  ///< driver, toolchain or templates have changed since; good until tuned again
};

Freshness freshness(const TuningRecord& record, const GpuQuery& query);

struct Found {
  TuningRecord record;
  Freshness freshness = Freshness::current;
  std::string layer;  ///< its directory; "memory" for what was added to a database without one
};

struct Neighbour {
  Found found;
  double distance =
      0;  ///< √(Σ log2²(ratio of sizes)) over the classes' m, n and k: 1 is a factor of two in one of them
};

/// The tuning records of all layers: the user's on top, then the read-only ones, then the shipped one.
///
/// Opening reads the files and indexes lines by the problem class they begin with; a line is parsed when its class is
/// first asked for. A line that is no legal record is dropped alone: counted, and the first one warned about. What
/// other processes add after opening is not seen. Thread-safe.
class Database {
 public:
  explicit Database(DatabaseOptions options);

  /// The record of `problem`'s class for this architecture. An upper layer wins over a lower one; within a layer the
  /// same GPU model over the same number of SMs over neither; then a current record over a stale one; then the latest
  /// measurement, or the best among those of the same m in the latest one's environment.
  std::optional<Found> find(const Workload& problem, const GpuQuery& query) const;

  /// Up to `max` classes that differ from `problem` in sizes only, so that their configs are legal for it: the nearest
  /// first, the class of `problem` itself included. Each comes with the record that find would return.
  std::vector<Neighbour> nearest(const Workload& problem, const GpuQuery& query, int max) const;

  /// Makes `record` visible to this object at once and appends it to this object's segment. Trouble with the disk is
  /// one warning, and nothing is written from then on. Throws Error{invalid_argument} for a record that cannot be
  /// stored, such as one whose config is not legal for its architecture.
  void add(const TuningRecord& record);

  /// Every record, from the top layer to the lowest.
  std::vector<Found> all(const GpuQuery& query = {}) const;

  /// Lines that were found to be no records, so far; `all` looks at every line. Lines of a newer schema do not count.
  std::size_t dropped() const { return dropped_.load(std::memory_order_relaxed); }

 private:
  enum class LineState : std::uint8_t { unread, good, dropped };
  struct Line {
    std::string_view text;
    int next = -1;  ///< the next line of its class
    int file = -1;  ///< index of files_; -1 for what was added here
    int number = 0;
    int layer = 0;
    bool is_torn = false;  ///< the last line of a file, without a newline: dropped in silence where it is no record
    LineState state = LineState::unread;
    std::unique_ptr<StoredRecord> stored;  ///< where state is good
  };
  struct Class {
    int first = -1;
    int last = -1;
    bool has_unread = false;
  };

  void open_layer(std::string name, std::vector<DatabaseFile> files);
  void index_file(int file, int layer);
  void append_line(std::string_view problem_class, Line line);
  void read_line(Line& line, std::string& warning) const;
  void read_class(Class& entry, std::string& warning) const;
  void drop(const Line& line, const std::string& reason, std::string& warning) const;
  const Line* best_of(const Class& entry, const GpuQuery& query) const;
  Found found(const Line& line, const GpuQuery& query) const;
  void warn(const std::string& message) const;

  DatabaseOptions options_;
  std::vector<std::string> layers_;
  std::vector<DatabaseFile> files_;
  mutable std::shared_mutex mutex_;  ///< guards what follows
  mutable std::deque<Line> lines_;
  mutable std::unordered_map<std::string_view, Class> classes_;  ///< keys view files_ or added_
  std::deque<std::string> added_;
  std::optional<Segment> segment_;
  bool disk_is_good_ = false;
  mutable std::atomic<std::size_t> dropped_{0};
};

}  // namespace hotgemm
