// C = A * Bᵀ in f16 on the GPU, with memory from the CUDA runtime.
//
//   c++ -std=c++20 hgemm.cpp $(pkg-config --cflags --libs hotgemm-cxx) -I/usr/local/cuda/include
//       -L/usr/local/cuda/lib64 -lcudart

#include <hotgemm/hotgemm.hpp>

#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(cudaError_t error, const char* attempt) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s: %s\n", attempt, cudaGetErrorString(error));
  const bool is_gpu_missing = error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver;
  std::exit(is_gpu_missing ? 3 : 1);
}

static __half* upload(const std::vector<__half>& values) {
  void* device = nullptr;
  check(cudaMalloc(&device, values.size() * sizeof(__half)), "allocate");
  check(cudaMemcpy(device, values.data(), values.size() * sizeof(__half), cudaMemcpyHostToDevice), "upload");
  return static_cast<__half*>(device);
}

int main() {
  const int m = 512, n = 384, k = 256;
  std::vector<__half> a(m * k), b(n * k), c(m * n);  // row-major; B is stored transposed
  for (int i = 0; i < m * k; ++i) a[i] = __float2half(static_cast<float>(i % 5 - 2));
  for (int i = 0; i < n * k; ++i) b[i] = __float2half(static_cast<float>(i % 7 - 3));
  __half *device_a = upload(a), *device_b = upload(b), *device_c = upload(c);

  try {
    hotgemm::hgemm(nullptr, hotgemm::Op::n, hotgemm::Op::t, m, n, k, 1.0f, device_a, k, device_b, k, 0.0f, device_c, n);

    const hotgemm::Problem problem{.m = m, .n = n, .k = k, .op_b = hotgemm::Op::t};
    std::printf("%s\n", hotgemm::Context::default_context().plan(hotgemm::Workload(problem)).explain().c_str());
  } catch (const hotgemm::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }

  check(cudaMemcpy(c.data(), device_c, c.size() * sizeof(__half), cudaMemcpyDeviceToHost), "download");
  int wrong = 0;
  for (int i = 0; i < m; ++i) {
    for (int j = 0; j < n; ++j) {
      float sum = 0;
      for (int l = 0; l < k; ++l) sum += __half2float(a[i * k + l]) * __half2float(b[j * k + l]);
      wrong += __half2float(c[i * n + j]) != __half2float(__float2half(sum));
    }
  }
  std::printf("%d of %d elements are wrong\n", wrong, m * n);
  for (__half* memory : {device_a, device_b, device_c}) check(cudaFree(memory), "free");
  return wrong == 0 ? 0 : 1;
}
