#pragma once

#include "interpose/product.h"
#include "interpose/real_cublas.h"
#include "interpose/reason.h"

// The arguments of a call of cublasLtMatmul that say what it computes.
struct lt_call {
  cublasLtMatmulDesc_t desc;
  const void* alpha;
  const void* a;
  cublasLtMatrixLayout_t layout_a;
  const void* b;
  cublasLtMatrixLayout_t layout_b;
  const void* beta;
  const void* c;
  cublasLtMatrixLayout_t layout_c;
  void* d;
  cublasLtMatrixLayout_t layout_d;
};

// Fills `product` with what the call computes. Returns REASON_SERVED, or the reason why hotgemm has nothing like it.
enum reason read_lt_call(const struct cublaslt* real, const struct lt_call* call, struct product* product);
