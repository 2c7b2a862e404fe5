#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <vector>

// The interface with which a test controls the stand-in driver in its own process. The environment controls the
// stand-in in other processes (environment_script.hpp).

namespace hotgemm::standin {

/// The kinds of objects that the ledger counts.
enum class Kind : int { context, module, function, stream, event, graph, graph_exec, allocation };

/// The effect on D of a kernel that misbehaves.
enum class Corruption : int {
  none,
  nothing,         ///< writes nothing
  wrong,           ///< writes all elements, one of them wrong
  nan,             ///< writes all elements, one of them NaN
  stray,           ///< writes all elements, and one byte after the last; into A if there is no memory there
  in_place_wrong,  ///< is right if D is another matrix than C; in place one element is wrong
  no_alpha,        ///< takes alpha for 1
  no_beta,         ///< takes beta for 1
  no_activation,   ///< leaves out the activation of its epilogue
  next_bias,       ///< adds the bias of the next column or row
  no_amax,         ///< leaves amax as it is
};

}  // namespace hotgemm::standin

extern "C" {
void standin_reset();
void standin_fail(const char* function, int nth, int result, bool sticky);
void standin_corrupt(const char* symbol_part, hotgemm::standin::Corruption corruption);
void standin_slow_launch(const char* symbol_part, unsigned microseconds);
void standin_refuse_image(const char* symbol_part, std::size_t loads);
void standin_reset_primary(int device);
void standin_set_speed(const char* symbol_part, double microseconds);
void standin_set_programmatic_speed(const char* symbol_part, double in_chain_us, double behind_us);
void standin_set_memory_limit(std::size_t bytes);
void standin_set_sm_limit(int sms);
std::size_t standin_violation_count();
std::size_t standin_violation_text(std::size_t index, char* text, std::size_t capacity);
std::size_t standin_live(hotgemm::standin::Kind kind);
std::size_t standin_calls(const char* function);
std::size_t standin_launches(const char* symbol_part);
unsigned standin_fill_seed();
}

namespace hotgemm::standin {

/// The stand-in's control functions, loaded from the library in HOTGEMM_LIBCUDA. Make one before the first
/// Driver::get(). All functions may be called from any thread.
class Standin {
 public:
  /// Sets HOTGEMM_LIBCUDA to `path`. Throws std::runtime_error if the library cannot be loaded.
  explicit Standin(const std::string& path) : library_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (library_ == nullptr) throw std::runtime_error("cannot load the stand-in driver: " + std::string(dlerror()));
    setenv("HOTGEMM_LIBCUDA", path.c_str(), 1);
  }

  /// Forgets failures, rules, counts and violations, and revives lost contexts. Handles stay alive.
  void reset() const { find<decltype(&standin_reset)>("standin_reset")(); }
  /// Makes the `nth` call from now on (1 is the next) of `function` return `result` without any effect. `function` is a
  /// name as in cuda.h, or "*" for any. If `sticky`, every later call in the then current context also returns
  /// `result`.
  void fail(const std::string& function, int nth, int result, bool sticky = false) const {
    find<decltype(&standin_fail)>("standin_fail")(function.c_str(), nth, result, sticky);
  }
  /// The rules below apply to GEMM kernels whose symbol contains `symbol_part`. The latest matching rule counts.
  void corrupt(const std::string& symbol_part, Corruption corruption) const {
    find<decltype(&standin_corrupt)>("standin_corrupt")(symbol_part.c_str(), corruption);
  }
  /// Makes a launch take `microseconds` of real time.
  void slow_launch(const std::string& symbol_part, unsigned microseconds) const {
    find<decltype(&standin_slow_launch)>("standin_slow_launch")(symbol_part.c_str(), microseconds);
  }
  /// Ends the primary context of `device` with everything in it, however many owners it has, as cudaDeviceReset does.
  void reset_primary(int device) const { find<decltype(&standin_reset_primary)>("standin_reset_primary")(device); }
  /// Makes the next `loads` loads of an image that holds a kernel with `symbol_part` in its symbol fail, as if the
  /// driver did not know the machine code: CUDA_ERROR_NO_BINARY_FOR_GPU.
  void refuse_image(const std::string& symbol_part, std::size_t loads) const {
    find<decltype(&standin_refuse_image)>("standin_refuse_image")(symbol_part.c_str(), loads);
  }
  /// Makes a launch advance the stream's simulated clock by `microseconds`. Events read this clock.
  void set_speed(const std::string& symbol_part, double microseconds) const {
    find<decltype(&standin_set_speed)>("standin_set_speed")(symbol_part.c_str(), microseconds);
  }
  /// Sets the speed of programmatic launches: `in_chain_us` where the kernel before it on the stream is the same one,
  /// which lets the next one begin early, and `behind_us` behind any other.
  void set_programmatic_speed(const std::string& symbol_part, double in_chain_us, double behind_us) const {
    find<decltype(&standin_set_programmatic_speed)>("standin_set_programmatic_speed")(symbol_part.c_str(), in_chain_us,
                                                                                      behind_us);
  }
  /// Sets the limit per device; 0 restores the default.
  void set_memory_limit(std::size_t bytes) const {
    find<decltype(&standin_set_memory_limit)>("standin_set_memory_limit")(bytes);
  }
  /// Sets the number of SMs that GEMM kernels and copies of operands must stay within from now on: a grid with more
  /// blocks, or a launch beside the preceding kernel, is misuse. 0: all.
  void set_sm_limit(int sms) const { find<decltype(&standin_set_sm_limit)>("standin_set_sm_limit")(sms); }
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
  /// The number of live handles of this kind.
  std::size_t live(Kind kind) const { return find<decltype(&standin_live)>("standin_live")(kind); }
  /// The number of calls of `function` since the last reset, including failed ones; "*" counts the same functions as
  /// fail("*", …).
  std::size_t calls(const std::string& function) const {
    return find<decltype(&standin_calls)>("standin_calls")(function.c_str());
  }
  /// The seed of the data that the latest kernel that fills a matrix was to write.
  unsigned fill_seed() const { return find<decltype(&standin_fill_seed)>("standin_fill_seed")(); }
  /// The number of kernels run since the last reset, by launches and by replays of graphs.
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
