#include "emulate/finding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

namespace hotgemm::emulate {
namespace {

auto kind(const Finding& f) { return std::tie(f.hazard, f.instruction, f.other, f.place); }

}  // namespace

std::string_view to_string(Hazard hazard) {
  switch (hazard) {
    case Hazard::out_of_bounds: return "out of bounds";
    case Hazard::misaligned: return "misaligned";
    case Hazard::uninitialised: return "never written";
    case Hazard::in_flight: return "copy in flight";
    case Hazard::conflict: return "conflict";
    case Hazard::stuck: return "stuck";
    case Hazard::bad_operand: return "bad operand";
    case Hazard::trapped: return "trap";
  }
  return "unknown hazard";
}

std::string to_string(const Finding& f) {
  std::string text =
      fmt::format("{}: {} of thread {} of block {}", to_string(f.hazard), to_string(f.instruction), f.thread, f.block);
  if (f.bytes > 0) text += fmt::format(" at {} {:#x}, {} bytes", f.place, f.address, f.bytes);
  if (!f.detail.empty()) text += ": " + f.detail;
  text += fmt::format(" (seed {}", f.seed);
  if (f.count > 1) text += fmt::format(", {} times", f.count);
  return text + ")";
}

void FindingLog::add(Finding finding) {
  const auto same = std::ranges::find_if(findings_, [&](const Finding& f) { return kind(f) == kind(finding); });
  if (same != findings_.end()) {
    ++same->count;
  } else {
    findings_.push_back(std::move(finding));
  }
}

}  // namespace hotgemm::emulate
