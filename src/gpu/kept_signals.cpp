#include "gpu/kept_signals.hpp"

#include "base/repeated.hpp"

#include <dlfcn.h>
#include <signal.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <mutex>

namespace hotgemm {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM};
using Actions = std::array<struct sigaction, kSignals.size()>;

/// The actions of the program, from the beginning of the first compilation to the end of the last.
struct Kept {
  std::mutex mutex;
  int compilations = 0;
  Actions actions{};
};

Kept& kept() {
  static auto* instance = new Kept();  // never freed: a compile thread may outlive static objects
  return *instance;
}

Actions current_actions() noexcept {
  Actions actions{};
  for (std::size_t i = 0; i < kSignals.size(); ++i) ::sigaction(kSignals[i], nullptr, &actions[i]);
  return actions;
}

const void* handler_of(const struct sigaction& action) noexcept {
  return reinterpret_cast<const void*>(action.sa_handler);  // a union: the address of either kind
}

bool has_flags_and_mask_of(const struct sigaction& action, const struct sigaction& other) noexcept {
  if (action.sa_flags != other.sa_flags) return false;
  for (int signal = 1; signal < NSIG; ++signal) {
    if (::sigismember(&action.sa_mask, signal) != ::sigismember(&other.sa_mask, signal)) return false;
  }
  return true;
}

bool is_in_library(const void* address, const void* library) noexcept {
  Dl_info of_address{}, of_library{};
  return ::dladdr(address, &of_address) != 0 && ::dladdr(library, &of_library) != 0 &&
         of_address.dli_fbase == of_library.dli_fbase;
}

}  // namespace

KeptSignals::KeptSignals(const void* library) : library_(library) {
  {
    const std::lock_guard lock(kept().mutex);
    if (kept().compilations++ == 0) kept().actions = current_actions();
  }
  watch_ = repeated(std::chrono::microseconds(200), [this] { mend(); });
}

KeptSignals::~KeptSignals() {
  watch_ = {};  // stops and joins
  mend();
  const std::lock_guard lock(kept().mutex);
  --kept().compilations;
}

void KeptSignals::mend() const noexcept {
  const std::lock_guard lock(kept().mutex);
  const Actions now = current_actions();
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    if (now[i].sa_handler == SIG_IGN)
      continue;  // set by the program, or by NVRTC for the moment in which it reads the action
    struct sigaction& program = kept().actions[i];
    const bool is_programs = handler_of(now[i]) == handler_of(program);
    const bool is_stripped = is_programs && !has_flags_and_mask_of(now[i], program);  // NVRTC took its own back
    if (is_stripped || is_in_library(handler_of(now[i]), library_)) {
      ::sigaction(kSignals[i], &program, nullptr);
    } else if (!is_programs) {
      program = now[i];
    }
  }
}

}  // namespace hotgemm
