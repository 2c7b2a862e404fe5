#include "gpu/nvrtc.hpp"

#include "base/exit_handlers.hpp"
#include "base/fork_guard.hpp"
#include "base/profiler_range.hpp"
#include "base/repeated.hpp"
#include "gpu/build_id.hpp"
#include "gpu/kept_signals.hpp"
#include "gpu/nvrtc_search.hpp"
#include "gpu/nvrtc_use.hpp"
#include "gpu/ptx_variables.hpp"
#include "gpu/slim_cubin.hpp"

#include <hotgemm/error.hpp>

#include <time.h>

#include <atomic>
#include <charconv>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace hotgemm {
namespace {

double thread_cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

/// The sum of the numbers that stand before `unit` in `log`. For example, ptxas reports "0 bytes stack frame, 8 bytes
/// spill stores, 8 bytes spill loads" and "Used 254 registers, used 1 barriers".
int sum_before(std::string_view log, std::string_view unit) {
  int sum = 0;
  for (std::size_t at = log.find(unit); at != log.npos; at = log.find(unit, at + 1)) {
    std::size_t first = at;
    while (first > 0 && log[first - 1] >= '0' && log[first - 1] <= '9') --first;
    int value = 0;
    std::from_chars(log.data() + first, log.data() + at, value);
    sum += value;
  }
  return sum;
}

using Clock = std::chrono::steady_clock;

/// Exists while NVRTC makes objects, now and then, that the end of the program destroys: while it is opened, and during
/// its first whole compilation. A thread renews the exit handlers meanwhile.
struct Making {
  ForkDelay delay;
  std::jthread renewal = repeated(std::chrono::milliseconds(1), renew);
  ~Making() {
    renewal = {};  // ends it
    renew_exit_handlers();
  }
  /// Not for ever, if no compilation succeeds: each renewal stays until the end of the program.
  static void renew() {
    static std::atomic<int> left{5000};
    if (left.fetch_sub(1, std::memory_order_relaxed) > 0) renew_exit_handlers();
  }
};

/// A compilation that goes on.
struct Flow {
  Clock::time_point deadline;
  bool is_making = false;  ///< a Making exists
  KeptSignals signals;
};

/// The callback that NVRTC asks during a compilation, of a Flow: 1 cancels it.
int is_to_end(void* flow, void*) {
  auto& going = *static_cast<Flow*>(flow);
  going.signals.end_watch();
  going.signals.mend();
  if (going.is_making) Making::renew();  // on the thread that compiles: the other one may be late
  return NvrtcUse::is_over() || Clock::now() >= going.deadline ? 1 : 0;
}

/// The log or the PTX of `program`, which these functions get; empty if NVRTC keeps none.
std::string text_of(nvrtcProgram program, decltype(&::nvrtcGetPTXSize) size_of, decltype(&::nvrtcGetPTX) get) {
  std::size_t bytes = 0;
  if (size_of(program, &bytes) != NVRTC_SUCCESS || bytes < 2) return {};
  std::string text(bytes, '\0');
  if (get(program, text.data()) != NVRTC_SUCCESS) return {};
  text.resize(bytes - 1);
  return text;
}

/// True for the architecture of the GPUs on which slim cubins have run.
bool is_proven_slim(std::string_view arch) { return arch == "sm_90a"; }

void drop_unread_variables(std::vector<std::uint8_t>& image, const std::string& ptx) {
  if (ptx.empty()) return;
  const auto unread = unread_variables(ptx);
  if (!unread) return;
  if (auto slim = slim_cubin(image, *unread)) image = *std::move(slim);
}

std::atomic<const Nvrtc*> instance{nullptr};  // set once, never freed

}  // namespace

const Nvrtc& Nvrtc::get() {
  if (const Nvrtc* nvrtc = loaded()) return *nvrtc;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (const Nvrtc* nvrtc = loaded()) return *nvrtc;
  const NvrtcUse use;
  const Making making;
  const Nvrtc* nvrtc = new Nvrtc();
  instance.store(nvrtc, std::memory_order_release);
  return *nvrtc;
}

const Nvrtc* Nvrtc::loaded() noexcept { return instance.load(std::memory_order_acquire); }

Nvrtc::Nvrtc() {
  const SharedLibrary library = find_nvrtc(NvrtcPlaces::of_process());
  const auto bind = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(library.find(name));
    if (function == nullptr) throw Error(ErrorCode::no_compiler, library.path() + " has no function " + name);
  };
  bind(version_, "nvrtcVersion");
  bind(error_string_, "nvrtcGetErrorString");
  bind(create_program_, "nvrtcCreateProgram");
  bind(destroy_program_, "nvrtcDestroyProgram");
  bind(compile_program_, "nvrtcCompileProgram");
  bind(log_size_, "nvrtcGetProgramLogSize");
  bind(log_, "nvrtcGetProgramLog");
  bind(cubin_size_, "nvrtcGetCUBINSize");
  bind(cubin_, "nvrtcGetCUBIN");
  bind(ptx_size_, "nvrtcGetPTXSize");
  bind(ptx_, "nvrtcGetPTX");
  bind(set_flow_callback_, "nvrtcSetFlowCallback");

  int major = 0, minor = 0;
  version_(&major, &minor);
  path_ = library.path();
  toolchain_ = "nvrtc-" + std::to_string(major) + "." + std::to_string(minor) + "-" + build_id_of(path_);
}

Cubin Nvrtc::compile(const KernelSource& source, const TemplateBundle& bundle, std::string* log_of_success,
                     Clock::time_point deadline) const {
  const ProfilerRange range([&] { return "compile " + source.symbol; });
  const NvrtcUse use;
  const double start_ms = thread_cpu_ms();
  std::vector<const char*> texts, names, options;
  for (const TemplateFile& file : bundle.files()) {
    texts.push_back(file.text.c_str());
    names.push_back(file.path.c_str());
  }
  if (!source.function.empty()) {
    texts.push_back(source.function.c_str());
    names.push_back(kFunctionHeader);
  }
  for (const std::string& option : source.options) options.push_back(option.c_str());

  static std::atomic<bool> is_used{false};
  std::optional<Making> making;
  if (!is_used.load(std::memory_order_relaxed)) making.emplace();
  nvrtcProgram program = nullptr;
  const auto check = [&](nvrtcResult result, const char* attempt) {
    if (result != NVRTC_SUCCESS) {
      throw Error(ErrorCode::compile_failed, std::string(attempt) + " " + source.symbol + ": " + error_string_(result));
    }
  };
  check(create_program_(&program, source.text.c_str(), (source.symbol + ".cu").c_str(), static_cast<int>(texts.size()),
                        texts.data(), names.data()),
        "create program");
  struct Destroy {
    const Nvrtc& nvrtc;
    nvrtcProgram& program;
    ~Destroy() { nvrtc.destroy_program_(&program); }
  } const destroy{*this, program};

  Flow flow{.deadline = deadline,
            .is_making = making.has_value(),
            .signals = KeptSignals(reinterpret_cast<const void*>(compile_program_))};
  check(set_flow_callback_(program, is_to_end, &flow), "set a deadline for");
  const nvrtcResult result = compile_program_(program, static_cast<int>(options.size()), options.data());
  flow.signals.mend();
  if (result == NVRTC_SUCCESS) is_used.store(true, std::memory_order_relaxed);
  making.reset();
  if (result == NVRTC_ERROR_CANCELLED) {
    throw Error(ErrorCode::interrupted,
                "the compilation of " + source.symbol + " was cancelled, at its deadline or at the end of the program");
  }
  std::string log = text_of(program, log_size_, log_);
  if (result != NVRTC_SUCCESS) {
    throw Error(ErrorCode::compile_failed, "compile " + source.symbol + " with templates from " + bundle.origin() +
                                               ": " + error_string_(result) + "\n" + log);
  }
  std::size_t image_bytes = 0;
  check(cubin_size_(program, &image_bytes), "get the size of the cubin of");
  Cubin cubin;
  cubin.image.resize(image_bytes);
  check(cubin_(program, reinterpret_cast<char*>(cubin.image.data())), "get the cubin of");
  cubin.symbol = source.symbol;
  constexpr std::string_view kArchOption = "--gpu-architecture=";
  for (const std::string& option : source.options) {
    if (option.starts_with(kArchOption)) cubin.arch = option.substr(kArchOption.size());
  }
  if (source.variables == GlobalVariables::read && is_proven_slim(cubin.arch)) {
    drop_unread_variables(cubin.image, text_of(program, ptx_size_, ptx_));
  }
  cubin.toolchain = toolchain_;
  cubin.registers = sum_before(log, " registers");
  cubin.spill_bytes = sum_before(log, " bytes spill stores") + sum_before(log, " bytes spill loads");
  cubin.static_smem_bytes = sum_before(log, " bytes smem");
  cubin.compile_ms = thread_cpu_ms() - start_ms;
  if (log_of_success != nullptr) *log_of_success = std::move(log);
  return cubin;
}

}  // namespace hotgemm
