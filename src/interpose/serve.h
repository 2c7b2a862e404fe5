#pragma once

#include "interpose/product.h"
#include "interpose/real_cublas.h"

#include <stdbool.h>

// Serves a call with a handle of libcublas, or counts why not. True: the product is enqueued. False: nothing is.
bool serve_for_handle(const struct cublas* real, cublasHandle_t handle, const struct product* product);

// Serves a call of cublasLtMatmul, or counts why not.
bool serve_on_stream(const struct product* product, cudaStream_t stream);
