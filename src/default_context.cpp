#include "tune/tune_options.hpp"

#include <hotgemm/context.hpp>
#include <hotgemm/error.hpp>

#include <atomic>
#include <mutex>
#include <optional>

namespace hotgemm {
namespace {

/// The context of hgemm, and its options if the program has set them.
struct Default {
  std::mutex mutex;  // guards `options`, and making the context
  std::optional<ContextOptions> options;
  std::atomic<Context*> context{nullptr};
};

Default& the_default() {
  static auto* instance = new Default();  // never freed: kernels may be launched until the process ends
  return *instance;
}

}  // namespace

Context& Context::default_context() {
  Default& made = the_default();
  if (Context* context = made.context.load(std::memory_order_acquire)) return *context;
  const std::lock_guard lock(made.mutex);
  if (Context* context = made.context.load(std::memory_order_acquire)) return *context;
  auto* context = new Context(made.options ? *made.options : ContextOptions::from_environment());
  made.context.store(context, std::memory_order_release);
  return *context;
}

void Context::configure_default(const ContextOptions& options) {
  validate(options.tuning);
  Default& made = the_default();
  const std::lock_guard lock(made.mutex);
  if (made.context.load(std::memory_order_acquire) != nullptr) {
    throw Error(ErrorCode::invalid_argument,
                "the default context has been made already; configure it before the first call of hgemm");
  }
  made.options = options;
}

}  // namespace hotgemm
