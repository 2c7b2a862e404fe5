#pragma once

#include <stdbool.h>

// True if the code at `return_address` is part of libcublas, which calls cublasLtMatmul by itself.
bool is_in_libcublas(const void* return_address);
