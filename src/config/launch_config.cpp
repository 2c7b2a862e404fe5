#include "config/launch_config.hpp"

#include "base/text.hpp"

#include <charconv>

namespace hotgemm {
namespace {

constexpr int kMostInLaunch = kMostSplits;  // of a raster's width and of splits

/// Takes `prefix` and the number after it from the front of `text`; nullopt if they are not there.
std::optional<int> take_number(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return std::nullopt;
  int number = 0;
  const auto [stop, error] = std::from_chars(text.data() + prefix.size(), text.data() + text.size(), number);
  if (error != std::errc() || number < 1 || number > kMostInLaunch) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(stop - text.data()));
  return number;
}

std::string copy_text(Repack copy, const char* operand) {
  if (copy == Repack::none) return {};
  return std::string(operand) + (copy == Repack::transposed ? "t" : "");
}
Repack take_copy(std::string_view& text, std::string_view operand) {
  if (!take_prefix(text, operand)) return Repack::none;
  return take_prefix(text, "t") ? Repack::transposed : Repack::aligned;
}

}  // namespace

std::string to_string(const LaunchConfig& launch) {
  std::string text = "r" + std::to_string(launch.raster_width) + (launch.raster_along_n ? "n" : "m");
  if (launch.programmatic) text += "p";
  const std::string copies = copy_text(launch.repack_a, "a") + copy_text(launch.repack_b, "b");
  if (!copies.empty()) text += "_x" + copies;
  if (launch.splits != 1) text += "_s" + std::to_string(launch.splits);
  return text;
}

std::optional<LaunchConfig> parse_launch(std::string_view text) {
  std::string_view rest = text;
  LaunchConfig launch;
  const std::optional<int> width = take_number(rest, "r");
  if (!width) return std::nullopt;
  launch.raster_width = *width;
  launch.raster_along_n = take_prefix(rest, "n");
  if (!launch.raster_along_n && !take_prefix(rest, "m")) return std::nullopt;
  launch.programmatic = take_prefix(rest, "p");
  if (take_prefix(rest, "_x")) {
    launch.repack_a = take_copy(rest, "a");
    launch.repack_b = take_copy(rest, "b");
  }
  if (const std::optional<int> splits = take_number(rest, "_s")) launch.splits = *splits;
  if (to_string(launch) != text) return std::nullopt;
  return launch;
}

}  // namespace hotgemm
