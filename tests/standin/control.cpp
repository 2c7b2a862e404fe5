// The functions with which a test controls the stand-in.

#include "standin/ledger.hpp"
#include "standin/standin.hpp"

#include <algorithm>
#include <cstring>

namespace hotgemm::standin {
namespace {

template <class Body>
auto locked(Body&& body) {
  Ledger& ledger = Ledger::get();
  const std::lock_guard lock(ledger.mutex);
  return body(ledger);
}

}  // namespace
}  // namespace hotgemm::standin

using hotgemm::standin::Corruption;
using hotgemm::standin::Kind;
using hotgemm::standin::Ledger;
using hotgemm::standin::locked;
using hotgemm::standin::Script;

void standin_reset() {
  locked([](Ledger& ledger) {
    ledger.script = Script();
    ledger.violations.clear();
    ledger.revive_contexts();
  });
}

void standin_fail(const char* function, int nth, int result, bool sticky) {
  locked([&](Ledger& ledger) {
    const auto calls = static_cast<std::size_t>(std::max(nth, 1));
    ledger.script.add_failure({function, calls, static_cast<CUresult>(result), sticky});
  });
}

void standin_corrupt(const char* symbol_part, Corruption corruption) {
  locked([&](Ledger& ledger) { ledger.script.corruptions.emplace_back(symbol_part, corruption); });
}

void standin_slow_launch(const char* symbol_part, unsigned microseconds) {
  locked([&](Ledger& ledger) { ledger.script.slow_launches_us.emplace_back(symbol_part, microseconds); });
}

void standin_reset_primary(int device) {
  locked([&](Ledger& ledger) { ledger.reset(*ledger.device_context(device)); });
}

void standin_refuse_image(const char* symbol_part, std::size_t loads) {
  locked([&](Ledger& ledger) { ledger.script.refused_loads.emplace_back(symbol_part, loads); });
}

void standin_set_speed(const char* symbol_part, double microseconds) {
  locked([&](Ledger& ledger) { ledger.script.speeds_us.emplace_back(symbol_part, microseconds); });
}

void standin_set_programmatic_speed(const char* symbol_part, double in_chain_us, double behind_us) {
  locked([&](Ledger& ledger) {
    ledger.script.programmatic_speeds.emplace_back(symbol_part, Script::ProgrammaticSpeed{in_chain_us, behind_us});
  });
}

void standin_set_memory_limit(std::size_t bytes) {
  locked([&](Ledger& ledger) { ledger.script.memory_limit = bytes; });
}

void standin_set_sm_limit(int sms) {
  locked([&](Ledger& ledger) { ledger.script.sm_limit = sms; });
}

std::size_t standin_violation_count() {
  return locked([](Ledger& ledger) { return ledger.violations.size(); });
}

/// Copies at most `capacity` characters, without a terminating zero. Returns the length of the whole text.
std::size_t standin_violation_text(std::size_t index, char* text, std::size_t capacity) {
  return locked([&](Ledger& ledger) -> std::size_t {
    if (index >= ledger.violations.size()) return 0;
    const std::string& violation = ledger.violations[index];
    if (capacity > 0) std::memcpy(text, violation.data(), std::min(capacity, violation.size()));
    return violation.size();
  });
}

std::size_t standin_live(Kind kind) {
  return locked([&](Ledger& ledger) -> std::size_t {
    switch (kind) {
      case Kind::context: return ledger.live_contexts();
      case Kind::module: return ledger.modules.size();
      case Kind::function: return ledger.functions.size();
      case Kind::stream: return ledger.streams.size();
      case Kind::event: return ledger.events.size();
      case Kind::graph: return ledger.graphs.size();
      case Kind::graph_exec: return ledger.graph_execs.size();
      case Kind::allocation: return ledger.memory.count();
    }
    return 0;
  });
}

std::size_t standin_calls(const char* function) {
  return locked([&](Ledger& ledger) { return ledger.script.calls(function); });
}

unsigned standin_fill_seed() {
  return locked([](Ledger& ledger) { return ledger.fill_seed; });
}

std::size_t standin_launches(const char* symbol_part) {
  return locked([&](Ledger& ledger) { return ledger.script.launches(symbol_part); });
}
