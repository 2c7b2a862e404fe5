#pragma once

#include <cublasLt.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// The libraries in place of libcublas and libcublasLt: what reached them, and what they answer.

namespace hotgemm::interpose {

struct FakeCall {
  std::string name;
  std::vector<std::uint64_t> arguments;
  friend bool operator==(const FakeCall&, const FakeCall&) = default;
};

/// An argument as a number.
template <class T>
std::uint64_t number_of(T value) {
  if constexpr (std::is_null_pointer_v<T>) {
    return 0;
  } else if constexpr (std::is_pointer_v<T>) {
    return reinterpret_cast<std::uint64_t>(value);
  } else {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }
}

class FakeRecord {
 public:
  /// No success: what comes back from the fakes, and not from the interposer.
  static constexpr cublasStatus_t kAnswer = CUBLAS_STATUS_ARCH_MISMATCH;

  template <class... Arguments>
  cublasStatus_t add(const char* name, Arguments... arguments) {
    const std::lock_guard lock(mutex_);
    calls_.push_back({name, {number_of(arguments)...}});
    return kAnswer;
  }
  std::vector<FakeCall> take() {
    const std::lock_guard lock(mutex_);
    return std::exchange(calls_, {});
  }
  /// Notes that the library was asked for an attribute of an operation that it does not have.
  void add_refused(int attribute) {
    const std::lock_guard lock(mutex_);
    refused_.push_back(attribute);
  }
  std::vector<int> take_refused() {
    const std::lock_guard lock(mutex_);
    return std::exchange(refused_, {});
  }

 private:
  std::mutex mutex_;
  std::vector<FakeCall> calls_;
  std::vector<int> refused_;
};

/// The state of a cublasHandle_t.
struct FakeHandle {
  cudaStream_t stream = nullptr;
  int pointer_mode = 0;
  int math_mode = 0;
  int sm_count_target = 0;
};

}  // namespace hotgemm::interpose

extern "C" {
hotgemm::interpose::FakeRecord* fake_record();
/// Lies in libcublas, and calls cublasLtMatmul as libcublas does.
cublasStatus_t fake_lt_call_of_cublas(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha,
                                      const void* a, cublasLtMatrixLayout_t layout_a, const void* b,
                                      cublasLtMatrixLayout_t layout_b, const void* beta, const void* c,
                                      cublasLtMatrixLayout_t layout_c, void* d, cublasLtMatrixLayout_t layout_d,
                                      const cublasLtMatmulAlgo_t* algorithm, void* workspace, std::size_t bytes,
                                      cudaStream_t stream);
}
