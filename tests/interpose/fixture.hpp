#pragma once

#include "interpose/fake.hpp"
#include "interpose/matrix.hpp"
#include "interpose/signatures.h"
#include "standin/standin.hpp"

#include <gtest/gtest.h>

#include <cublas_v2.h>
#include <cuda.h>

#include <chrono>
#include <cstdlib>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace hotgemm::interpose {

// The functions as this program is bound to them: to the interposer, and without it to the fake library. The headers
// declare some with pointers to elements, and overload others.
namespace bound {
#define HOTGEMM_BOUND(name, kind, Int) \
  inline const auto name = (cublasStatus_t(*)(HOTGEMM_PARAMETERS_##kind(Int))) & ::name;
HOTGEMM_PRODUCTS(HOTGEMM_BOUND)
#undef HOTGEMM_BOUND
}  // namespace bound

/// The stand-in driver, by the names of cuda.h, with the primary context of device 0. It is current where this is made.
class Device {
 public:
  Device() : standin_(std::getenv("HOTGEMM_LIBCUDA")) {
    handle_ = dlopen(std::getenv("HOTGEMM_LIBCUDA"), RTLD_NOW | RTLD_LOCAL);
    find<decltype(&cuInit)>("cuInit")(0);
    find<decltype(&cuDevicePrimaryCtxRetain)>("cuDevicePrimaryCtxRetain")(&context_, 0);
    make_current();
  }

  /// Gives the thread a CUDA context.
  void make_current() const { find<decltype(&cuCtxSetCurrent)>("cuCtxSetCurrent")(context_); }

  template <class Function>
  Function find(const char* name) const {
    auto get = reinterpret_cast<CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*)>(
        dlsym(handle_, "cuGetProcAddress_v2"));
    void* function = nullptr;
    if (get == nullptr || get(name, &function, CUDA_VERSION, 0, nullptr) != CUDA_SUCCESS) {
      throw std::runtime_error(std::string("the stand-in driver has no ") + name);
    }
    return reinterpret_cast<Function>(function);
  }
  CUstream make_stream() const {
    CUstream stream = nullptr;
    find<decltype(&cuStreamCreate)>("cuStreamCreate")(&stream, CU_STREAM_NON_BLOCKING);
    return stream;
  }
  /// Memory for the rest of the process.
  void* allocate(std::size_t bytes) const {
    CUdeviceptr address = 0;
    const auto result = find<decltype(&cuMemAlloc)>("cuMemAlloc")(&address, bytes);
    if (result != CUDA_SUCCESS) throw std::runtime_error("cuMemAlloc");
    return reinterpret_cast<void*>(address);
  }
  const standin::Standin& standin() const { return standin_; }

 private:
  standin::Standin standin_;
  void* handle_ = nullptr;
  CUcontext context_ = nullptr;
};

inline const Device& device() {
  static const Device one;
  return one;
}

inline void* allocate_on_device(std::size_t bytes) { return device().allocate(bytes); }

/// A handle of cuBLAS with a stream, and a product that is served once it is prepared.
class InterposeTest : public testing::Test {
 protected:
  InterposeTest() {
    device();
    cublasCreate_v2(&handle_);
    stream_ = device().make_stream();
    cublasSetStream_v2(handle_, stream_);
    fake_record()->take();
  }
  ~InterposeTest() override {
    cublasDestroy_v2(handle_);
    EXPECT_EQ(device().standin().violations(), std::vector<std::string>());
  }

  /// Calls until a call is served. hotgemm declines until it has prepared the problem.
  static void call_until_served(const std::function<cublasStatus_t()>& call) {
    const auto start = std::chrono::steady_clock::now();
    while (call() != CUBLAS_STATUS_SUCCESS) {
      ASSERT_EQ(fake_record()->take().size(), 1u) << "a call that is not served reaches cuBLAS";
      ASSERT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20)) << "no call was served";
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_EQ(fake_record()->take().size(), 0u) << "a call that is served does not reach cuBLAS";
  }
  /// Expects that the call reaches the function `name` of the fake library with the same arguments, and nothing else.
  template <class Function, class... Arguments>
  static void expect_passed_on(const char* name, Function function, Arguments... arguments) {
    SCOPED_TRACE(name);
    EXPECT_EQ(function(arguments...), FakeRecord::kAnswer);
    const std::vector<FakeCall> calls = fake_record()->take();
    ASSERT_EQ(calls.size(), 1u);
    EXPECT_EQ(calls.front(), (FakeCall{name, {number_of(arguments)...}}));
  }

  cublasHandle_t handle_ = nullptr;
  CUstream stream_ = nullptr;
};

}  // namespace hotgemm::interpose
