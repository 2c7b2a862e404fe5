#pragma once

#include <functional>
#include <optional>
#include <string_view>

namespace hotgemm {

enum class LogLevel { debug, info, warn, error, off };
std::string_view to_string(LogLevel level);
std::optional<LogLevel> parse_log_level(std::string_view text);

/// Receives every message at or above the current level. It is called on the thread that logs, which may hold
/// locks. If it throws, the message goes to the default sink.
using LogSink = std::function<void(LogLevel, std::string_view)>;

/// The logger of this process. The default sink is spdlog on stderr; its level is `warn`, or the level in HOTGEMM_LOG.
/// An empty sink restores the default. Waits for the calls of the former sink that go on.
void set_logger_sink(LogSink sink);
void set_logger_level(LogLevel level);
void log(LogLevel level, std::string_view message);

}  // namespace hotgemm
