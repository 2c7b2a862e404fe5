#pragma once

#include "base/file_descriptor.hpp"
#include "config/class_key.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace hotgemm {

struct ProblemLogOptions {
  std::filesystem::path directory;
  std::chrono::milliseconds interval = std::chrono::seconds(10);  ///< between looks at the counts
  std::size_t max_classes = std::size_t{1} << 16;                 ///< classes beyond them are not logged
};

/// Writes the problems that a program meets to a file of its own, `problems-<host>-<pid>-<random>.txt`, in the syntax
/// of shape files: a line when a class is first seen, with the problem of that call and `count=1`, and further lines
/// with the number of calls since. The calls of a class are the sum of its lines, so that files of several processes
/// can be read one after another. Each line is appended by one write: a process that is killed loses at most the last
/// calls of classes that it has written.
///
/// A thread writes the counts. A class gets a line when an eighth of its calls are not written yet, so that its lines
/// grow with the logarithm of its calls; the rest follows when this object or the program ends. If the file cannot be
/// written, a warning says so, once. Thread-safe. A child of fork() logs nothing.
class ProblemLog {
 public:
  explicit ProblemLog(ProblemLogOptions options);
  ~ProblemLog();
  ProblemLog(const ProblemLog&) = delete;
  ProblemLog& operator=(const ProblemLog&) = delete;

  /// Counts a call. If its class is known, this takes no lock, and neither allocates nor writes.
  void add(const Workload& problem) { add(class_key(problem), problem); }
  /// Counts a call of `problem`, whose key the caller has.
  void add(const ClassKey& key, const Workload& problem) {
    if (Entry* const entry = find(key)) {
      entry->calls.fetch_add(1, std::memory_order_relaxed);
    } else {
      add_class(key, problem);
    }
  }

  /// Ends the thread and writes all counts. Of later calls only the first of each class is written.
  void stop();

 private:
  struct alignas(64) Entry {
    explicit Entry(const ClassKey& of) : key(of) {}
    ClassKey key;
    std::atomic<std::uint64_t> calls{1};
  };
  static_assert(sizeof(Entry) == 64, "a known class costs two cache lines: its cell and its entry");
  struct Class {
    explicit Class(const ClassKey& key, std::string problem) : entry(key), text(std::move(problem)) {}
    Entry entry;
    std::string text;
    std::uint64_t written = 1;  ///< guarded by `file_mutex`
  };
  /// Open addressing, at most half full. A larger one takes its place; the former stays, because a reader may see it.
  struct Table {
    explicit Table(std::size_t size) : cells(size), mask(size - 1) {}
    std::vector<std::atomic<Entry*>> cells;
    std::size_t mask;
  };
  /// The state that the thread uses too. A child of fork() does not touch it.
  struct Shared {
    std::mutex mutex;  ///< guards `classes`, `tables` and `is_stopping`; taken before `file_mutex`
    std::condition_variable changed;
    std::deque<Class> classes;
    std::vector<std::unique_ptr<Table>> tables;
    bool is_stopping = false;
    std::thread thread;
    std::mutex file_mutex;
    FileDescriptor file;
    std::string path;
    bool is_lost = false;  ///< the file cannot be written
  };

  Entry* find(const ClassKey& key) const noexcept {
    const Table& table = *table_.load(std::memory_order_acquire);
    for (std::size_t i = hash_of(key);; ++i) {
      Entry* const entry = table.cells[i & table.mask].load(std::memory_order_acquire);
      if (entry == nullptr || std::memcmp(&entry->key, &key, sizeof key) == 0) return entry;
    }
  }
  void add_class(const ClassKey& key, const Workload& problem);
  void insert(Entry& entry);
  void begin_thread();
  void run();
  void write_counts(bool all);
  void open_file();
  void write_line(std::string_view line);

  const ProblemLogOptions options_;
  std::unique_ptr<Shared> shared_ = std::make_unique<Shared>();
  std::atomic<Table*> table_;
  std::atomic<bool> is_full_{false};
};

}  // namespace hotgemm
