#pragma once

#include "standin/standin.hpp"

#include <cuda.h>

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hotgemm::standin {

/// The way a kernel ends. It also ends its context.
struct Fate {
  enum class Kind {
    fault,  ///< an illegal address: the launch succeeds, and all later calls fail
    hang,   ///< the kernel does not end: calls that wait for the GPU do not return
    crash,  ///< the process receives SIGSEGV during the launch
  };
  Kind kind = Kind::fault;
  std::size_t from_launch = 1;  ///< counts the launches of this kernel in this process
};

/// The instructions of the test for the stand-in, and counts of calls. Not thread-safe.
class Script {
 public:
  struct Failure {
    std::string function;  // or "*"
    std::size_t calls_left;
    CUresult result;
    bool sticky;
  };

  void add_failure(Failure failure) { failures_.push_back(std::move(failure)); }
  /// Counts a call of `function` and returns the failure that is due now, if any. "*" does not include the functions
  /// that only describe an error: a caller could not see their failure.
  std::optional<Failure> count_call(std::string_view function);
  std::size_t calls(std::string_view function) const;

  void count_launch(const std::string& symbol) { ++launches_[symbol]; }
  std::size_t launches(std::string_view symbol_part) const;

  // Rules for a part of the kernel's symbol. The latest matching rule counts.
  template <class Value>
  using Rules = std::vector<std::pair<std::string, Value>>;
  template <class Value>
  static std::optional<Value> latest(const Rules<Value>& rules, std::string_view symbol) {
    for (auto rule = rules.rbegin(); rule != rules.rend(); ++rule) {
      if (symbol.find(rule->first) != symbol.npos) return rule->second;
    }
    return std::nullopt;
  }
  Rules<Corruption> corruptions;
  Rules<Fate> fates;
  Rules<unsigned> slow_launches_us;
  Rules<double> speeds_us;
  Rules<std::size_t> refused_loads;  // of images with such a kernel: the number of loads that still fail
  struct ProgrammaticSpeed {
    double in_chain_us, behind_us;
  };
  Rules<ProgrammaticSpeed> programmatic_speeds;
  std::size_t memory_limit = 0;  // per device; 0 means the device's size
  int sm_limit = 0;              // SMs that launches must stay within; 0: all
  bool is_shared_by_mps = false;
  bool reaches_host_memory =
      false;  // kernels, as where a GPU reads pageable memory: tensors of a CPU are operands then

 private:
  std::vector<Failure> failures_;
  std::map<std::string, std::size_t, std::less<>> calls_;
  std::size_t all_calls_ = 0;
  std::map<std::string, std::size_t> launches_;
};

}  // namespace hotgemm::standin
