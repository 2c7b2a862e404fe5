#include "base/log.hpp"

#include <hotgemm/context.hpp>

#include <fmt/format.h>

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

namespace hotgemm {
namespace {

constexpr std::pair<std::string_view, LogLevel> kLevels[] = {{"debug", LogLevel::debug},
                                                             {"info", LogLevel::info},
                                                             {"warn", LogLevel::warn},
                                                             {"error", LogLevel::error},
                                                             {"off", LogLevel::off}};

/// Writes "[14:03:27.051] [hotgemm] [warn] message" to stderr, in one call, so that lines of other threads stay whole.
void print(LogLevel level, std::string_view message) {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  std::tm local{};
  ::localtime_r(&now.tv_sec, &local);
  const std::string line = fmt::format("[{:02}:{:02}:{:02}.{:03}] [hotgemm] [{}] {}\n", local.tm_hour, local.tm_min,
                                       local.tm_sec, now.tv_nsec / 1'000'000, to_string(level), message);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

LogLevel level_from_environment() {
  const char* text = std::getenv("HOTGEMM_LOG");
  return parse_log_level(text != nullptr ? text : "").value_or(LogLevel::warn);
}

class Logger {
 public:
  void set_sink(LogSink sink) {
    std::unique_lock lock(mutex_);
    const std::shared_ptr<Sink> former = std::exchange(sink_, sink ? std::make_shared<Sink>(std::move(sink)) : nullptr);
    if (former) ended_.wait(lock, [&] { return former->running == 0; });
  }
  void set_level(LogLevel level) {
    const std::lock_guard lock(mutex_);
    level_ = level;
  }
  void write(LogLevel level, std::string_view message) {
    std::shared_ptr<Sink> sink;
    {
      const std::lock_guard lock(mutex_);
      if (level < level_ || level_ == LogLevel::off) return;
      sink = sink_;
      if (sink) ++sink->running;
    }
    if (sink) {
      const bool is_written = pass(*sink, level, message);
      {
        const std::lock_guard lock(mutex_);
        --sink->running;
      }
      ended_.notify_all();
      if (is_written) return;
      print(LogLevel::warn, "the log sink threw; its message follows");
    }
    print(level, message);
  }

 private:
  struct Sink {
    explicit Sink(LogSink function) : call(std::move(function)) {}
    LogSink call;
    int running = 0;  // calls; guarded by `mutex_`
  };

  /// False if the sink threw: the caller is in the middle of something else.
  static bool pass(const Sink& sink, LogLevel level, std::string_view message) {
    try {
      sink.call(level, message);
      return true;
    } catch (...) {
      return false;
    }
  }

  std::mutex mutex_;
  std::condition_variable ended_;  // a call of a sink
  std::shared_ptr<Sink> sink_;
  LogLevel level_ = level_from_environment();
};

Logger& logger() {
  static Logger* instance = new Logger();  // never destroyed: the last message may come from the destructor of a static
  return *instance;
}

}  // namespace

std::string_view to_string(LogLevel level) {
  for (const auto& [name, candidate] : kLevels) {
    if (candidate == level) return name;
  }
  return "?";
}

std::optional<LogLevel> parse_log_level(std::string_view text) {
  for (const auto& [name, level] : kLevels) {
    if (name == text) return level;
  }
  return std::nullopt;
}

void set_logger_sink(LogSink sink) { logger().set_sink(std::move(sink)); }
void set_logger_level(LogLevel level) { logger().set_level(level); }
void log(LogLevel level, std::string_view message) { logger().write(level, message); }

void set_log_sink(std::function<void(std::string_view, std::string_view)> sink) {
  if (!sink) return set_logger_sink({});
  set_logger_sink(
      [sink = std::move(sink)](LogLevel level, std::string_view message) { sink(to_string(level), message); });
}

void set_log_level(std::string_view text) {
  const auto level = parse_log_level(text);
  if (!level) throw Error(ErrorCode::invalid_argument, "unknown log level \"" + std::string(text) + "\"");
  set_logger_level(*level);
}

}  // namespace hotgemm
