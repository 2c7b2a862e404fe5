#include "gpu/kept_interrupt.hpp"

#include <dlfcn.h>

#include <mutex>

namespace hotgemm {
namespace {

/// The action of the program, from the beginning of the first compilation to the end of the last.
struct Kept {
  std::mutex mutex;
  int compilations = 0;
  struct sigaction action {};
};

Kept& kept() {
  static auto* instance = new Kept();  // never freed: a compile thread may outlive static objects
  return *instance;
}

struct sigaction current_action() noexcept {
  struct sigaction action {};
  ::sigaction(SIGINT, nullptr, &action);
  return action;
}

const void* handler_of(const struct sigaction& action) noexcept {
  return reinterpret_cast<const void*>(action.sa_handler);  // a union: the address of either kind
}

bool is_in_library(const void* address, const void* library) noexcept {
  Dl_info of_address{}, of_library{};
  return ::dladdr(address, &of_address) != 0 && ::dladdr(library, &of_library) != 0 &&
         of_address.dli_fbase == of_library.dli_fbase;
}

}  // namespace

KeptInterrupt::KeptInterrupt(const void* library) : library_(library) {
  const std::lock_guard lock(kept().mutex);
  if (kept().compilations++ == 0) kept().action = current_action();
}

KeptInterrupt::~KeptInterrupt() {
  mend();
  const std::lock_guard lock(kept().mutex);
  --kept().compilations;
}

void KeptInterrupt::mend() const noexcept {
  const std::lock_guard lock(kept().mutex);
  const struct sigaction now = current_action();
  struct sigaction& program = kept().action;
  const bool is_programs = handler_of(now) == handler_of(program);  // NVRTC took its own back, without the flags
  if (is_programs || is_in_library(handler_of(now), library_)) {
    ::sigaction(SIGINT, &program, nullptr);
  } else {
    program = now;
  }
}

}  // namespace hotgemm
