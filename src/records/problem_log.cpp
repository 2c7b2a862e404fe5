#include "records/problem_log.hpp"

#include "base/blocked_signals.hpp"
#include "base/fork_guard.hpp"
#include "base/live_threads.hpp"
#include "base/log.hpp"
#include "base/text.hpp"
#include "base/thread_priority.hpp"
#include "config/max_size.hpp"
#include "config/prepacked.hpp"
#include "config/problem_text.hpp"
#include "records/database_files.hpp"

#include <hotgemm/error.hpp>

#include <errno.h>
#include <fcntl.h>

#include <algorithm>
#include <cstring>
#include <system_error>
#include <utility>

namespace hotgemm {
namespace {

constexpr std::size_t kFirstCells = 1024;

}  // namespace

ProblemLog::ProblemLog(ProblemLogOptions options) : options_(std::move(options)) {
  shared_->tables.push_back(std::make_unique<Table>(kFirstCells));
  table_ = shared_->tables.back().get();
}

ProblemLog::~ProblemLog() {
  if (has_lost_cuda()) {
    [[maybe_unused]] const Shared* const shared = shared_.release();  // its thread is the parent's
    return;
  }
  stop();
}

void ProblemLog::stop() {
  if (has_lost_cuda()) return;
  std::thread thread;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->is_stopping = true;
    shared_->changed.notify_all();
    thread = std::move(shared_->thread);
  }
  if (thread.joinable()) thread.join();
  write_counts(true);
  LiveThreads<ProblemLog>::instance().remove(this);
}

void ProblemLog::add_class(const ClassKey& key, const Workload& problem) {
  if (is_full_.load(std::memory_order_relaxed) || has_lost_cuda()) return;
  const std::string text = to_string(as_aligned(problem));
  {
    const std::lock_guard lock(shared_->mutex);
    if (Entry* const entry = find(key)) {  // another thread came first
      entry->calls.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    if (shared_->classes.size() >= options_.max_classes) {
      if (!is_full_.exchange(true)) {
        log(LogLevel::warn,
            "the problem log holds " + std::to_string(options_.max_classes) + " classes; further ones are not logged");
      }
      return;
    }
    insert(shared_->classes.emplace_back(key, text).entry);
    begin_thread();
  }
  const std::lock_guard lock(shared_->file_mutex);
  write_line(text + " count=1\n");
}

/// The caller holds the lock.
void ProblemLog::insert(Entry& entry) {
  const auto put = [](Table& table, Entry& one) {
    std::size_t i = hash_of(one.key);
    while (table.cells[i & table.mask].load(std::memory_order_relaxed) != nullptr) ++i;
    table.cells[i & table.mask].store(&one, std::memory_order_release);
  };
  Table& table = *shared_->tables.back();
  if (2 * shared_->classes.size() <= table.cells.size()) return put(table, entry);
  auto larger = std::make_unique<Table>(2 * table.cells.size());
  for (Class& each : shared_->classes) put(*larger, each.entry);
  table_.store(larger.get(), std::memory_order_release);
  shared_->tables.push_back(std::move(larger));
}

/// The caller holds the lock.
void ProblemLog::begin_thread() {
  if (shared_->thread.joinable() || shared_->is_stopping || !LiveThreads<ProblemLog>::instance().add(this)) return;
  try {
    const BlockedSignals blocked;
    shared_->thread = std::thread([this] { run(); });
  } catch (const std::system_error& error) {
    log(LogLevel::info, std::string("counts of problems are written at the end only: no thread: ") + error.what());
  }
}

void ProblemLog::run() {
  lower_thread_priority();
  std::unique_lock lock(shared_->mutex);
  while (!shared_->changed.wait_for(lock, options_.interval, [this] { return shared_->is_stopping; })) {
    lock.unlock();
    write_counts(false);
    lock.lock();
  }
}

/// Writes the calls of each class that are not written yet; unless `all`, where they are an eighth or more.
void ProblemLog::write_counts(bool all) {
  std::vector<Class*> classes;
  {
    const std::lock_guard lock(shared_->mutex);
    for (Class& each : shared_->classes) classes.push_back(&each);
  }
  const std::lock_guard lock(shared_->file_mutex);
  for (Class* const each : classes) {
    std::uint64_t more = each->entry.calls.load(std::memory_order_relaxed) - each->written;
    if (!all && more < each->written / 8) continue;
    each->written += more;
    while (more > 0) {
      const std::uint64_t count = std::min<std::uint64_t>(more, kMaxSize);  // the largest that a shape file may have
      write_line(each->text + " count=" + std::to_string(count) + "\n");
      more -= count;
    }
  }
}

void ProblemLog::open_file() {
  std::string name = new_segment_name();  // of no other file
  name = "problems-" + name.substr(0, name.rfind('.')) + ".txt";
  const std::filesystem::path path = std::filesystem::absolute(options_.directory) / name;
  std::filesystem::create_directories(path.parent_path());
  shared_->path = path.string();
  shared_->file =
      FileDescriptor(::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!shared_->file) throw Error(ErrorCode::io_error, "cannot make " + path.string() + ": " + std::strerror(errno));
  const std::string program = in_quotes(program_invocation_short_name);
  append_text(
      shared_->file.get(), shared_->path,
      "# Problems of " + program + ", process " + std::to_string(::getpid()) + ". Counts of equal lines add up.\n");
}

/// The caller holds `file_mutex`.
void ProblemLog::write_line(std::string_view line) {
  if (shared_->is_lost) return;
  try {
    if (!shared_->file) open_file();
    append_text(shared_->file.get(), shared_->path, line);
  } catch (const std::exception& error) {
    shared_->is_lost = true;
    log(LogLevel::warn, std::string("problems are no longer logged: ") + error.what());
  }
}

}  // namespace hotgemm
