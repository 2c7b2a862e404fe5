#pragma once

#include <cuda.h>

#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <map>
#include <set>
#include <stdexcept>
#include <string>

// The interface of a library that stands for cuBLAS and cuBLASLt: its algorithms compute nothing, and launch what the
// test tells.

namespace hotgemm::standin {

/// A product of cuBLASLt, or of cublasGemmBatchedEx.
struct FakeProduct {
  std::map<int, std::uint64_t> attributes;  ///< the values of cublasLtMatmulDescAttributes_t that were set
  const void* first = nullptr;              ///< the operands, or the arrays of a batch by pointers
  const void* second = nullptr;
  const void* c = nullptr;
  const void* d = nullptr;
  int batch = 1;  ///< of cublasGemmBatchedEx
  float beta = 0;
};

/// The behaviour of the library, which a test sets, and what it was asked for.
struct FakeCublas {
  static constexpr int kDefault = 0;  ///< the number of cuBLAS's default; algorithms of cuBLASLt count from 1

  void (*launch)(CUstream stream, int algorithm) = nullptr;
  int algorithms = 3;          ///< that the heuristics return
  int version = 130100;        ///< "13.1.0"
  std::set<int> refused;       ///< algorithms that the check refuses
  std::set<int> broken;        ///< algorithms that fail at their launch
  bool has_batch_mode = true;  ///< false: as cuBLASLt before its batches by pointers
  int asked = 0;               ///< calls of the heuristics
  FakeProduct last;            ///< that was launched
};

/// Loads the library at `path` and makes hotgemm use it.
inline FakeCublas& use_fake_cublas(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error("cannot load the fake cuBLAS: " + std::string(dlerror()));
  setenv("HOTGEMM_LIBCUBLAS", path, 1);
  setenv("HOTGEMM_LIBCUBLASLT", path, 1);
  FakeCublas& fake = *reinterpret_cast<FakeCublas* (*)()>(dlsym(library, "fake_cublas"))();
  fake = FakeCublas{};
  return fake;
}

inline void forget_fake_cublas() {
  unsetenv("HOTGEMM_LIBCUBLAS");
  unsetenv("HOTGEMM_LIBCUBLASLT");
}

}  // namespace hotgemm::standin
