#pragma once

#include "config/render.hpp"
#include "gpu/driver.hpp"
#include "gpu/loaded_kernel.hpp"
#include "gpu/nvrtc.hpp"
#include "gpu/stream.hpp"

#include <hotgemm/error.hpp>

#include <dlfcn.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hotgemm {

/// Functions of the loaded driver that hotgemm does not call itself. Those that it lacks are nullptr.
struct OtherDriverCalls {
  explicit OtherDriverCalls(const Driver& driver) {
    void* library = ::dlopen(driver.path.c_str(), RTLD_NOW);
    const auto find = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(library, name));
    };
    find(host_alloc, "cuMemHostAlloc");
    find(host_free, "cuMemFreeHost");
    find(alloc_async, "cuMemAllocAsync");
    find(free_async, "cuMemFreeAsync");
    find(library_load, "cuLibraryLoadData");
    find(library_unload, "cuLibraryUnload");
    find(library_kernel, "cuLibraryGetKernel");
    find(kernel_function, "cuKernelGetFunction");
    find(func_load, "cuFuncLoad");
    find(loading_mode, "cuModuleGetLoadingMode");
  }

  CUresult (*host_alloc)(void**, std::size_t, unsigned) = nullptr;
  CUresult (*host_free)(void*) = nullptr;
  CUresult (*alloc_async)(CUdeviceptr*, std::size_t, CUstream) = nullptr;
  CUresult (*free_async)(CUdeviceptr, CUstream) = nullptr;
  CUresult (*library_load)(CUlibrary*, const void*, CUjit_option*, void**, unsigned, CUlibraryOption*, void**,
                           unsigned) = nullptr;
  CUresult (*library_unload)(CUlibrary) = nullptr;
  CUresult (*library_kernel)(CUkernel*, CUlibrary, const char*) = nullptr;
  CUresult (*kernel_function)(CUfunction*, CUkernel) = nullptr;
  CUresult (*func_load)(CUfunction) = nullptr;
  CUresult (*loading_mode)(CUmoduleLoadingMode*) = nullptr;
};

/// A kernel of a test, compiled without any cache.
inline Cubin compile_for_test(const std::string& symbol, const std::string& text, const std::string& arch,
                              const TemplateBundle& bundle) {
  KernelSource source = render_check(arch, bundle);  // for its options
  source.symbol = symbol;
  source.text = text;
  return Nvrtc::get().compile(source, bundle);
}

/// Host memory that kernels see too.
class MappedWords {
 public:
  MappedWords(const Driver& driver, const OtherDriverCalls& calls) : calls_(calls) {
    void* memory = nullptr;
    driver.check(calls.host_alloc(&memory, 64, CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP),
                 "allocate mapped memory");
    words_ = static_cast<unsigned*>(memory);
  }
  ~MappedWords() { calls_.host_free(words_); }
  MappedWords(const MappedWords&) = delete;
  MappedWords& operator=(const MappedWords&) = delete;

  std::atomic_ref<unsigned> at(int i) const { return std::atomic_ref(words_[i]); }
  CUdeviceptr address() const { return reinterpret_cast<CUdeviceptr>(words_); }

 private:
  const OtherDriverCalls& calls_;
  unsigned* words_ = nullptr;
};

/// A kernel of one thread that runs until the host stops it, as a kernel that waits for another GPU or for the host
/// does. It ends by itself after kLifeNs, so that nothing hangs.
class Spinner {
 public:
  static constexpr unsigned long long kLifeNs = 3'000'000'000;
  static constexpr const char* kSymbol = "spinner";
  static constexpr const char* kText = R"(
extern "C" __global__ void spinner(volatile unsigned* words, unsigned long long life_ns) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  words[1] = 1;
  __threadfence_system();
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (words[0] == 0 && now - begin < life_ns);
  words[2] = 1;
  __threadfence_system();
}
)";

  /// Returns when the kernel runs. All arguments must outlive the object.
  Spinner(const Driver& driver, const LoadedKernel& kernel, const MappedWords& words, CUstream stream)
      : driver_(driver), words_(words), stream_(stream) {
    for (const int i : {0, 1, 2}) words_.at(i) = 0;
    CUdeviceptr address = words.address();
    unsigned long long life_ns = kLifeNs;
    void* parameters[] = {&address, &life_ns};
    driver.check(driver.cuLaunchKernel(kernel.function(), 1, 1, 1, 1, 1, 1, 0, stream, parameters, nullptr),
                 "launch a spinner");
    const auto late = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (words_.at(1) == 0) {
      if (std::chrono::steady_clock::now() > late) throw Error(ErrorCode::internal, "the spinner does not begin");
    }
  }
  ~Spinner() {
    stop();
    driver_.cuStreamSynchronize(stream_);
  }
  Spinner(const Spinner&) = delete;
  Spinner& operator=(const Spinner&) = delete;

  bool runs() const { return words_.at(2) == 0; }
  void stop() const { words_.at(0) = 1; }

 private:
  const Driver& driver_;
  const MappedWords& words_;
  CUstream stream_;
};

/// The time of a stretch of work, and whether it ended while the spinner still ran.
struct StageTime {
  double us = 0;
  bool ended_beside = false;
};

/// All that is needed to run a spinner and something beside it. One at a time.
class SpinnerBench {
 public:
  using Stages = std::vector<std::function<void()>>;

  static constexpr std::chrono::milliseconds kPatience{500};

  SpinnerBench(const Driver& driver, const OtherDriverCalls& calls, const Cubin& spinner, unsigned stream_flags)
      : driver_(driver), kernel_(driver, spinner, 0), words_(driver, calls) {
    driver.check(driver.cuStreamCreate(&stream_, stream_flags), "make a stream for a spinner");
  }
  ~SpinnerBench() { driver_.cuStreamDestroy(stream_); }
  SpinnerBench(const SpinnerBench&) = delete;
  SpinnerBench& operator=(const SpinnerBench&) = delete;

  /// Calls `stages` one after another on another thread, in the CUDA context of this one, while a spinner runs. It is
  /// stopped when they have ended, or after kPatience. `beside`, if given, is called on this thread meanwhile, again
  /// and again. Throws what a stage throws. A stage that does not end without the spinner either ends the process.
  std::vector<StageTime> run(const Stages& stages, const std::function<void()>& beside = {}) const {
    CUcontext context = nullptr;
    driver_.check(driver_.cuCtxGetCurrent(&context), "find the current CUDA context");
    std::promise<const Spinner*> go;
    std::promise<void> is_ready;
    std::future<std::vector<StageTime>> done = std::async(std::launch::async, [&, begun = go.get_future()]() mutable {
      driver_.cuCtxSetCurrent(context);
      is_ready.set_value();
      return timed(stages, *begun.get());
    });
    is_ready.get_future().wait();
    std::optional<Spinner> spinner;
    try {
      spinner.emplace(driver_, kernel_, words_, stream_);
    } catch (...) {
      go.set_exception(std::current_exception());
      throw;
    }
    go.set_value(&*spinner);
    const auto late = std::chrono::steady_clock::now() + kPatience;
    while (done.wait_until(beside ? std::chrono::steady_clock::now() + std::chrono::milliseconds(1) : late) !=
               std::future_status::ready &&
           std::chrono::steady_clock::now() < late) {
      if (beside) beside();
    }
    spinner->stop();
    if (done.wait_for(std::chrono::seconds(30)) != std::future_status::ready) {
      std::fprintf(stderr, "a call waits, although nothing runs on the GPU\n");
      std::_Exit(3);
    }
    return done.get();
  }

 private:
  static std::vector<StageTime> timed(const Stages& stages, const Spinner& spinner) {
    std::vector<StageTime> times;
    for (const auto& stage : stages) {
      const auto start = std::chrono::steady_clock::now();
      stage();
      const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
      times.push_back({took.count(), spinner.runs()});
    }
    return times;
  }

  const Driver& driver_;
  LoadedKernel kernel_;
  MappedWords words_;
  CUstream stream_ = nullptr;
};

}  // namespace hotgemm
