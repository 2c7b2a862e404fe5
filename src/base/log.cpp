#include "base/log.hpp"

#include <hotgemm/context.hpp>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <cxxabi.h>
#include <pthread.h>

#include <condition_variable>
#include <cstdlib>
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

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::debug: return spdlog::level::debug;
    case LogLevel::info: return spdlog::level::info;
    case LogLevel::warn: return spdlog::level::warn;
    case LogLevel::error: return spdlog::level::err;
    case LogLevel::off: break;
  }
  return spdlog::level::off;
}

LogLevel level_from_environment() {
  const char* text = std::getenv("HOTGEMM_LOG");
  return parse_log_level(text != nullptr ? text : "").value_or(LogLevel::warn);
}

/// The default sink. It has a lock of its own: that of spdlog's sink is one for the process, and in a child of fork() a
/// thread of the parent may hold it for ever.
class DefaultSink {
 public:
  DefaultSink() : logger_("hotgemm", std::make_shared<spdlog::sinks::stderr_sink_st>()) {
    logger_.set_level(spdlog::level::trace);
    logger_.set_pattern("[%H:%M:%S.%e] [hotgemm] [%l] %v");
  }
  void write(LogLevel level, std::string_view message) {
    const std::lock_guard lock(mutex_);
    logger_.log(spdlog_level(level), spdlog::string_view_t(message.data(), message.size()));
  }

 private:
  std::mutex mutex_;
  spdlog::logger logger_;
};

class Logger;
Logger& logger();

/// A private logger outside spdlog's registry, because the host program may use spdlog too.
class Logger {
 public:
  Logger() : level_(level_from_environment()) {
    const auto before = [] { logger().mutex_.lock(); };  // no thread holds it for long
    const auto after = [] { logger().mutex_.unlock(); };
    const auto after_in_child = [] { logger().begin_as_child(); };
    ::pthread_atfork(before, after, after_in_child);
  }
  void set_sink(LogSink sink) {
    std::shared_ptr<Sink> former = sink ? std::make_shared<Sink>(std::move(sink)) : nullptr;
    std::unique_lock lock(mutex_);
    former.swap(sink_);
    // The threads of a parent that ran it do not exist in a child.
    if (former && !is_child_) ended_.wait(lock, [&] { return former->running == 0; });
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
      const EndOfCall end{*this, sink};
      if (pass(*sink, level, message)) return;
      default_->write(LogLevel::warn, "the log sink threw; its message follows");
    }
    default_->write(level, message);
  }

 private:
  struct Sink {
    explicit Sink(LogSink function) : call(std::move(function)) {}
    LogSink call;
    int running = 0;  // calls; guarded by `mutex_`
  };

  /// Ends a call of a sink, and drops this thread's share of it first: so the thread that replaced the sink destroys
  /// what it holds, and this thread does not.
  struct EndOfCall {
    Logger& logger;
    std::shared_ptr<Sink>& sink;
    ~EndOfCall() {
      {
        const std::lock_guard lock(logger.mutex_);
        --sink->running;
        sink.reset();
      }
      logger.ended_.notify_all();
    }
  };

  /// Leaves the default sink as it is: a thread of the parent may have been writing to it.
  void begin_as_child() {
    is_child_ = true;
    default_ = new DefaultSink;
    mutex_.unlock();
  }

  /// False if the sink threw: the caller is in the middle of something else. The cancellation of the thread passes.
  static bool pass(const Sink& sink, LogLevel level, std::string_view message) {
    try {
      sink.call(level, message);
      return true;
    } catch (const abi::__forced_unwind&) {
      throw;
    } catch (...) {
      return false;
    }
  }

  std::mutex mutex_;
  std::condition_variable ended_;           // a call of a sink
  DefaultSink* default_ = new DefaultSink;  // lives as long as the process
  std::shared_ptr<Sink> sink_;
  LogLevel level_;
  bool is_child_ = false;  // true in a child of fork(), if the parent had this logger
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
