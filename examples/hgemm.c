/*
 * C = A * B^T in f16 on the GPU, in C, with memory from the CUDA runtime.
 *
 *   cc hgemm.c $(pkg-config --cflags --libs hotgemm) -I/usr/local/cuda/include -L/usr/local/cuda/lib64 -lcudart
 *
 * Without a toolkit, with the wheels that the build of hotgemm got: CUDA=build/cuda-wheels/nvidia/cu13
 *   cc hgemm.c $(pkg-config --cflags --libs hotgemm) -I$CUDA/include $CUDA/lib/libcudart.so.13 -Wl,-rpath,$CUDA/lib
 */

#include <hotgemm/hotgemm.h>

#include <cuda_runtime_api.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { M = 512, N = 384, K = 256 };

static void check_cuda(cudaError_t error, const char* attempt) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "%s: %s\n", attempt, cudaGetErrorString(error));
  exit(error == cudaErrorNoDevice || error == cudaErrorInsufficientDriver ? 3 : 1);
}

static void check(hotgemm_status status) {
  char message[1024];
  if (status == HOTGEMM_SUCCESS) return;
  hotgemm_last_error(message, sizeof(message));
  fprintf(stderr, "%s: %s\n", hotgemm_status_name(status), message);
  exit(1);
}

/* The bits of a whole number from -2048 to 2048 in f16. */
static uint16_t to_half(int value) {
  const unsigned sign = value < 0 ? 0x8000u : 0u;
  unsigned bits = (unsigned)abs(value), exponent = 25;
  if (bits == 0) return 0;
  while (bits < 1024) bits <<= 1, --exponent;
  while (bits >= 2048) bits >>= 1, ++exponent;
  return (uint16_t)(sign | exponent << 10 | (bits & 1023u));
}

static void* upload(const uint16_t* values, size_t count) {
  void* device = NULL;
  check_cuda(cudaMalloc(&device, count * sizeof(*values)), "allocate");
  check_cuda(cudaMemcpy(device, values, count * sizeof(*values), cudaMemcpyHostToDevice), "upload");
  return device;
}

int main(void) {
  static uint16_t a[M * K], b[N * K], c[M * N]; /* row-major; B is stored transposed */
  hotgemm_context* context;
  hotgemm_plan* plan;
  hotgemm_problem problem = HOTGEMM_PROBLEM_INIT;
  hotgemm_operands operands = HOTGEMM_OPERANDS_INIT;
  char text[512];
  int wrong = 0;

  for (int i = 0; i < M * K; ++i) a[i] = to_half(i % 5 - 2);
  for (int i = 0; i < N * K; ++i) b[i] = to_half(i % 7 - 3);
  operands.a = upload(a, M * K);
  operands.b = upload(b, N * K);
  operands.d = upload(c, M * N);
  operands.lda = operands.ldb = K;
  operands.ldd = N;
  problem.m = M;
  problem.n = N;
  problem.k = K;
  problem.op_b = HOTGEMM_OP_T;

  check(hotgemm_context_default(&context));
  check(hotgemm_gemm(context, &problem, &operands, NULL, NULL));

  check(hotgemm_plan_create(context, &problem, &operands, HOTGEMM_POLICY_OF_CONTEXT, NULL, NULL, &plan));
  check(hotgemm_plan_explain(plan, text, sizeof(text), NULL));
  printf("%s\n", text);
  hotgemm_plan_destroy(plan);

  check_cuda(cudaMemcpy(c, operands.d, sizeof(c), cudaMemcpyDeviceToHost), "download");
  for (int i = 0; i < M; ++i) {
    for (int j = 0; j < N; ++j) {
      int sum = 0;
      for (int l = 0; l < K; ++l) sum += ((i * K + l) % 5 - 2) * ((j * K + l) % 7 - 3);
      wrong += c[i * N + j] != to_half(sum);
    }
  }
  printf("%d of %d elements are wrong\n", wrong, M * N);
  return wrong == 0 ? 0 : 1;
}
