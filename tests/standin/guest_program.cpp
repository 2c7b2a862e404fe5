// A program that uses hotgemm.
//
// guest_program CACHE_DIRECTORY PROBLEM CANDIDATES SCRATCH_BYTES
//   plans PROBLEM under Policy::tune, and prints the origin and the config of the plan.
// guest_program --default-context PROBLEM MILLISECONDS
//   calls PROBLEM in the default context, which tunes it in the background, and ends so long after that began. The
//   status is 3 if PROBLEM never waited to be tuned, or never began to be measured, and 4 if a forked child cannot end
//   (AddressSanitizer: no child).
// guest_program --end-while-compiling MILLISECONDS
//   ends so long after another thread began to compile, one kernel after the other.
// guest_program --end-while-a-guest-compiles MILLISECONDS
//   likewise, but the thread alone calls the library, and the time begins when NVRTC is open.
// guest_program --open-while-ending
//   opens NVRTC in an exit handler. The status is 5 if that succeeds, and 6 if it fails for another reason than the
//   end.

#include "gpu/device_buffer.hpp"
#include "gpu/driver.hpp"
#include "gpu/nvrtc.hpp"

#include <hotgemm/hotgemm.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <thread>

namespace {

using namespace hotgemm;

void plan_one(char** argv) {
  ContextOptions options;
  options.policy = Policy::tune;
  options.cache_directory = argv[1];
  options.tuning = {
      .max_candidates = std::atoi(argv[3]), .budget_s = 100, .scratch_bytes = std::atoll(argv[4]), .rounds = 2};
  Context context(options);
  const Plan plan = context.plan(parse_workload(argv[2]));
  std::printf("%s %s\n", std::string(to_string(plan.origin())).c_str(), plan.config().c_str());
}

/// A forked child has no thread that measures.
bool child_ends() {
#if defined(__SANITIZE_ADDRESS__)
  return true;  // GCC's AddressSanitizer does not survive fork(): a child waits for locks of its allocator
#endif
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    std::exit(0);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && status == 0;
}

/// Returns the exit status.
int end_while_it_measures(const Driver& driver, const char* problem, std::chrono::milliseconds after) {
  const Workload workload = parse_workload(problem);
  const DeviceBuffer memory(driver, 1 << 20);
  const auto at = [&](std::size_t offset) { return reinterpret_cast<void*>(memory.get() + offset); };
  const Operands operands{
      .a = at(0), .b = at(1 << 18), .d = at(1 << 19), .lda = workload.k, .ldb = workload.n, .ldd = workload.n};
  Context& context = Context::default_context();
  context.gemm(nullptr, workload, operands);  // once is too seldom to be measured
  if (context.stats().waiting_classes != 1) return 3;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(50);
  while (context.stats().waiting_classes > 0) {  // it does not wait while it is measured
    if (std::chrono::steady_clock::now() > end) return 3;
    context.gemm(nullptr, workload, operands);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::this_thread::sleep_for(after);
  return child_ends() ? 0 : 4;
}

PrewarmReport compile(std::int64_t m) {
  PrewarmOptions options;
  options.archs = {"sm_90a"};
  options.candidates = true;
  const Workload problem = parse_workload(std::to_string(m) + " 64 65 nn f16");
  return Context::default_context().prewarm({&problem, 1}, options);
}

void start_compiling() {
  std::thread([] {
    for (std::int64_t m = 64; compile(m).compiled > 0; m += 64) continue;
    ::pause();  // the program ends
  }).detach();
}

int end_while_it_compiles(std::chrono::milliseconds after) {
  Context::default_context();
  start_compiling();
  std::this_thread::sleep_for(after);
  return 0;
}

/// The main thread plans nothing. It waits until NVRTC is open, because exit() cannot wait for the opening here.
int end_while_a_guest_compiles(std::chrono::milliseconds after) {
  start_compiling();
  while (Nvrtc::loaded() == nullptr) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(after);
  return 0;
}

/// Opens NVRTC when the main thread has no more thread-local objects.
int open_while_it_ends() {
  Context::default_context();
  return std::atexit([] {
    try {
      Nvrtc::get();
    } catch (const Error& error) {
      std::_Exit(error.code() == ErrorCode::interrupted ? 0 : 6);
    }
    std::_Exit(5);
  });
}

}  // namespace

int main(int, char** argv) {
  try {
    const std::string_view way = argv[1];
    const auto after = [&] { return std::chrono::milliseconds(std::atoi(argv[2])); };
    if (way == "--end-while-compiling") return end_while_it_compiles(after());
    if (way == "--end-while-a-guest-compiles") return end_while_a_guest_compiles(after());
    if (way == "--open-while-ending") return open_while_it_ends();
    const Driver& driver = Driver::get();
    CUcontext cuda = nullptr;
    driver.check(driver.cuDevicePrimaryCtxRetain(&cuda, 0), "retain");
    driver.check(driver.cuCtxSetCurrent(cuda), "make current");
    if (argv[1] == std::string_view("--default-context")) {
      return end_while_it_measures(driver, argv[2], std::chrono::milliseconds(std::atoi(argv[3])));
    }
    plan_one(argv);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "guest_program: %s\n", error.what());
    return 1;
  }
}
