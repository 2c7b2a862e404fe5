#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

// How a test steers and questions the stand-in driver in its own process. Other processes are steered by the
// environment (environment_script.hpp).

namespace hotgemm::standin {

/// What the ledger counts.
enum class Kind : int { context, module, function, stream, event, graph, graph_exec, allocation };

/// What a kernel that was told to misbehave does to D.
enum class Corruption : int {
  none,
  nothing,         ///< writes nothing
  wrong,           ///< writes all, one element of it wrong
  nan,             ///< writes all, one element of it NaN
  stray,           ///< writes all, and one byte behind the last element; into A where that is no memory
  in_place_wrong,  ///< right where D is another matrix than C; in place one element is wrong
  no_alpha,        ///< takes alpha for 1
  no_beta,         ///< takes beta for 1
};

}  // namespace hotgemm::standin

extern "C" {
void standin_reset();
void standin_fail(const char* function, int nth, int result, bool sticky);
void standin_corrupt(const char* symbol_part, hotgemm::standin::Corruption corruption);
void standin_slow_launch(const char* symbol_part, unsigned microseconds);
void standin_set_speed(const char* symbol_part, double microseconds);
void standin_set_memory_limit(std::size_t bytes);
std::size_t standin_violation_count();
std::size_t standin_violation_text(std::size_t index, char* text, std::size_t capacity);
std::size_t standin_live(hotgemm::standin::Kind kind);
std::size_t standin_calls(const char* function);
std::size_t standin_launches(const char* symbol_part);
}

namespace hotgemm::standin {

/// The stand-in's control functions, loaded from the library that HOTGEMM_LIBCUDA names or will name. Make one before
/// the first Driver::get(). All functions may be called from any thread.
class Standin {
 public:
  /// Points HOTGEMM_LIBCUDA at `path`. Throws std::runtime_error if it cannot be loaded.
  explicit Standin(const std::string& path) : library_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error("cannot load the stand-in driver: " + std::string(dlerror()));
    setenv("HOTGEMM_LIBCUDA", path.c_str(), 1);
  }

  /// Forgets failures, rules, counts and violations, and revives lost contexts. Handles stay alive.
  void reset() const { find<decltype(&standin_reset)>("standin_reset")(); }
  /// The `nth` call from now (1 is the next) of `function`, as in cuda.h, or of any ("*"), returns `result` and does
  /// nothing. If `sticky`, every later call in the context that is then current returns it too.
  void fail(const std::string& function, int nth, int result, bool sticky = false) const {
    find<decltype(&standin_fail)>("standin_fail")(function.c_str(), nth, result, sticky);
  }
  /// The rules below hold for GEMM kernels whose symbol contains `symbol_part`; the latest rule that matches counts.
  void corrupt(const std::string& symbol_part, Corruption corruption) const {
    find<decltype(&standin_corrupt)>("standin_corrupt")(symbol_part.c_str(), corruption);
  }
  /// A launch takes `microseconds` of real time.
  void slow_launch(const std::string& symbol_part, unsigned microseconds) const {
    find<decltype(&standin_slow_launch)>("standin_slow_launch")(symbol_part.c_str(), microseconds);
  }
  /// A launch advances the stream's simulated clock, which events read, by `microseconds`.
  void set_speed(const std::string& symbol_part, double microseconds) const {
    find<decltype(&standin_set_speed)>("standin_set_speed")(symbol_part.c_str(), microseconds);
  }
  /// Per device; 0 restores the default.
  void set_memory_limit(std::size_t bytes) const {
    find<decltype(&standin_set_memory_limit)>("standin_set_memory_limit")(bytes);
  }
  /// Misuse of the driver since the last reset, in order.
  std::vector<std::string> violations() const {
    std::vector<std::string> all(find<decltype(&standin_violation_count)>("standin_violation_count")());
    const auto read = find<decltype(&standin_violation_text)>("standin_violation_text");
    for (std::size_t i = 0; i < all.size(); ++i) {
      all[i].resize(read(i, nullptr, 0));
      read(i, all[i].data(), all[i].size());
    }
    return all;
  }
  /// Handles that exist now.
  std::size_t live(Kind kind) const { return find<decltype(&standin_live)>("standin_live")(kind); }
  /// Calls of `function` since the last reset, failed ones included; "*" for those that fail("*", …) counts.
  std::size_t calls(const std::string& function) const {
    return find<decltype(&standin_calls)>("standin_calls")(function.c_str());
  }
  /// Kernels run since the last reset, by launches and by replays of graphs.
  std::size_t launches(const std::string& symbol_part = "") const {
    return find<decltype(&standin_launches)>("standin_launches")(symbol_part.c_str());
  }

 private:
  template <class Function>
  Function find(const char* name) const {
    void* address = dlsym(library_, name);
    if (address == nullptr) throw std::runtime_error("the stand-in driver has no " + std::string(name));
    return reinterpret_cast<Function>(address);
  }

  void* library_;
};

}  // namespace hotgemm::standin
