#pragma once

// The outcomes of a call: it is served, or passed on to cuBLAS for one of these reasons.
#define HOTGEMM_REASONS(F)                                                                          \
  F(SERVED, "served")                                                                               \
  F(DECLINED, "not prepared yet, or no record says that hotgemm is as fast")                        \
  F(NO_ELEMENTS, "a size or the batch is 0, or negative")                                           \
  F(TYPES, "types of the matrices or of the sum that have no kernel, or a compute type of its own") \
  F(F32, "f32, which HOTGEMM_CUBLAS_SGEMM=1 asks to serve")                                         \
  F(ARITHMETIC, "the math mode or an environment variable asks for another arithmetic")             \
  F(SCALARS, "alpha and beta lie on the device, or are no numbers that hotgemm takes")              \
  F(LAYOUT, "an operation, or an order or shape of a matrix, that hotgemm does not have")           \
  F(EPILOGUE, "an epilogue or an operand of it, scale factors or counters that hotgemm lacks")      \
  F(HANDLE, "the handle or a descriptor cannot be read")                                            \
  F(NO_LIBRARY, "libhotgemm cannot be opened")                                                      \
  F(NOT_SUPPORTED, "hotgemm has no kernel")                                                         \
  F(INVALID, "hotgemm refused an argument")                                                         \
  F(FAILED, "hotgemm failed before the launch")

#define HOTGEMM_REASON(name, text) REASON_##name,
enum reason { HOTGEMM_REASONS(HOTGEMM_REASON) REASON_COUNT };
#undef HOTGEMM_REASON
