#include "interpose/lt_call.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

// Attributes that cublasLt.h of CUDA 12, or of CUDA 13, does not have under these names.
enum { kLayoutBatchMode = 8, kDescCountersIn = 29, kDescCountersOut = 30, kDescEmulation = 38 };
enum { kDescAlphaStride = 39, kDescBetaStride = 40 };
enum { kStrided = 0, kPointerArray = 1 };  // batch modes
enum { kHasAuxiliary = 128 };              // the bit of all epilogues with an auxiliary matrix

// The library takes some 20 ns for an attribute, so none is read that does not matter.

// Reads an attribute into a variable of its type. False if the library does not give one of this size.
#define HOTGEMM_READ_DESC(real, desc, attribute, variable) \
  read_desc(real, desc, (cublasLtMatmulDescAttributes_t)(attribute), &(variable), sizeof(variable))
#define HOTGEMM_READ_LAYOUT(real, layout, attribute, variable) \
  read_layout_attribute(real, layout, (cublasLtMatrixLayoutAttribute_t)(attribute), &(variable), sizeof(variable))

static bool read_desc(const struct cublaslt* real, cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute,
                      void* value, size_t bytes) {
  size_t written = 0;
  return real->cublasLtMatmulDescGetAttribute(desc, attribute, value, bytes, &written) == CUBLAS_STATUS_SUCCESS &&
         written == bytes;
}

static bool read_layout_attribute(const struct cublaslt* real, cublasLtMatrixLayout_t layout,
                                  cublasLtMatrixLayoutAttribute_t attribute, void* value, size_t bytes) {
  size_t written = 0;
  return real->cublasLtMatrixLayoutGetAttribute(layout, attribute, value, bytes, &written) == CUBLAS_STATUS_SUCCESS &&
         written == bytes;
}

struct layout {
  uint64_t rows, cols;
  int32_t batch;
  int32_t batch_mode;
};

static enum reason read_layout(const struct cublaslt* real, cublasLtMatrixLayout_t from, struct layout* layout,
                               struct matrix* matrix) {
  int32_t type = 0, order = 0;
  if (from == NULL) return REASON_HANDLE;
  if (!HOTGEMM_READ_LAYOUT(real, from, CUBLASLT_MATRIX_LAYOUT_TYPE, type) ||
      !HOTGEMM_READ_LAYOUT(real, from, CUBLASLT_MATRIX_LAYOUT_ORDER, order) ||
      !HOTGEMM_READ_LAYOUT(real, from, CUBLASLT_MATRIX_LAYOUT_ROWS, layout->rows) ||
      !HOTGEMM_READ_LAYOUT(real, from, CUBLASLT_MATRIX_LAYOUT_COLS, layout->cols) ||
      !HOTGEMM_READ_LAYOUT(real, from, CUBLASLT_MATRIX_LAYOUT_LD, matrix->ld) ||
      !HOTGEMM_READ_LAYOUT(real, from, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, layout->batch)) {
    return REASON_HANDLE;
  }
  // A library without batch modes has only batches of equal distances.
  if (!HOTGEMM_READ_LAYOUT(real, from, kLayoutBatchMode, layout->batch_mode)) layout->batch_mode = kStrided;
  if (layout->batch != 1 && layout->batch_mode == kStrided &&
      !HOTGEMM_READ_LAYOUT(real, from, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, matrix->stride)) {
    return REASON_HANDLE;
  }
  matrix->type = (cudaDataType)type;
  return order == CUBLASLT_ORDER_COL && layout->batch_mode <= kPointerArray ? REASON_SERVED : REASON_LAYOUT;
}

static bool have_one_mode(const struct layout* a, const struct layout* b, const struct layout* c,
                          const struct layout* d) {
  return a->batch_mode == d->batch_mode && b->batch_mode == d->batch_mode && c->batch_mode == d->batch_mode;
}

static bool is_shape(const struct layout* layout, int64_t rows, int64_t cols, int64_t batch) {
  return layout->rows == (uint64_t)rows && layout->cols == (uint64_t)cols && layout->batch == batch;
}

static enum reason read_layouts(const struct cublaslt* real, const struct lt_call* call, struct product* product) {
  struct layout a, b, c, d;
  enum reason reason = read_layout(real, call->layout_d, &d, &product->d);
  if (reason == REASON_SERVED) reason = read_layout(real, call->layout_a, &a, &product->a);
  if (reason == REASON_SERVED) reason = read_layout(real, call->layout_b, &b, &product->b);
  if (call->layout_c == call->layout_d) {
    c = d;
    product->c = product->d;
  } else if (reason == REASON_SERVED) {
    reason = read_layout(real, call->layout_c, &c, &product->c);
  }
  if (reason != REASON_SERVED) return reason;
  const bool a_is_mk = product->op_a == CUBLAS_OP_N;
  const bool b_is_kn = product->op_b == CUBLAS_OP_N;
  product->m = (int64_t)d.rows;
  product->n = (int64_t)d.cols;
  product->k = (int64_t)(a_is_mk ? a.cols : a.rows);
  product->batch = d.batch;
  const bool fits = is_shape(&a, a_is_mk ? product->m : product->k, a_is_mk ? product->k : product->m, d.batch) &&
                    is_shape(&b, b_is_kn ? product->k : product->n, b_is_kn ? product->n : product->k, d.batch) &&
                    is_shape(&c, product->m, product->n, d.batch);
  product->a.at = call->a;
  product->b.at = call->b;
  product->c.at = call->c;
  product->d.at = call->d;
  product->has_pointers = d.batch_mode == kPointerArray;
  product->only_elements_are_aligned = true;
  return fits && have_one_mode(&a, &b, &c, &d) ? REASON_SERVED : REASON_LAYOUT;
}

static bool is_unset(const struct cublaslt* real, cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t attribute) {
  const void* pointer = NULL;
  return HOTGEMM_READ_DESC(real, desc, attribute, pointer) && pointer == NULL;
}

// Scale factors belong to FP8 and smaller types. For others a library may ignore or refuse them: that is its affair.
static bool has_scales(const struct cublaslt* real, cublasLtMatmulDesc_t desc) {
  return !is_unset(real, desc, CUBLASLT_MATMUL_DESC_A_SCALE_POINTER) ||
         !is_unset(real, desc, CUBLASLT_MATMUL_DESC_B_SCALE_POINTER) ||
         !is_unset(real, desc, CUBLASLT_MATMUL_DESC_C_SCALE_POINTER) ||
         !is_unset(real, desc, CUBLASLT_MATMUL_DESC_D_SCALE_POINTER) ||
         !is_unset(real, desc, CUBLASLT_MATMUL_DESC_AMAX_D_POINTER);
}

// A library without atomic synchronization does not know the attributes. It is asked for them once.
static bool has_counters(const struct cublaslt* real, cublasLtMatmulDesc_t desc) {
  static _Atomic(const struct cublaslt*) without_counters;
  if (atomic_load_explicit(&without_counters, memory_order_relaxed) == real) return false;
  const void *in = NULL, *out = NULL;
  const bool knows_in = HOTGEMM_READ_DESC(real, desc, kDescCountersIn, in);
  const bool knows_out = HOTGEMM_READ_DESC(real, desc, kDescCountersOut, out);
  if (!knows_in && !knows_out) atomic_store_explicit(&without_counters, real, memory_order_relaxed);
  return (knows_in && in != NULL) || (knows_out && out != NULL);
}

static enum reason read_bias(const struct cublaslt* real, cublasLtMatmulDesc_t desc, struct product* product) {
  int32_t type = -1;
  int64_t stride = 0;
  if (!HOTGEMM_READ_DESC(real, desc, CUBLASLT_MATMUL_DESC_BIAS_POINTER, product->bias) ||
      !HOTGEMM_READ_DESC(real, desc, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, type) ||
      !HOTGEMM_READ_DESC(real, desc, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, stride)) {
    return REASON_HANDLE;
  }
  const bool is_type_of_d = type == -1 || type == (int32_t)product->d.type;
  const bool is_for_all = product->batch == 1 || stride == 0;
  return is_type_of_d && is_for_all ? REASON_SERVED : REASON_EPILOGUE;
}

static bool has_bits(cublasLtEpilogue_t epilogue) {
  return epilogue == CUBLASLT_EPILOGUE_RELU_AUX || epilogue == CUBLASLT_EPILOGUE_RELU_AUX_BIAS ||
         epilogue == CUBLASLT_EPILOGUE_DRELU;
}

// Bits have no type. Any other type than D's, scale factors and a maximum belong to FP8.
static enum reason read_auxiliary(const struct cublaslt* real, cublasLtMatmulDesc_t desc, struct product* product) {
  struct matrix* auxiliary = &product->auxiliary;
  int32_t type = -1;
  if (product->has_pointers) return REASON_EPILOGUE;
  if (!HOTGEMM_READ_DESC(real, desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, auxiliary->at) ||
      !HOTGEMM_READ_DESC(real, desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, auxiliary->ld) ||
      !HOTGEMM_READ_DESC(real, desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, auxiliary->stride) ||
      !HOTGEMM_READ_DESC(real, desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, type)) {
    return REASON_HANDLE;
  }
  auxiliary->type = product->d.type;
  const bool is_type_of_d = type == (int32_t)product->d.type && !has_bits(product->epilogue);
  const bool is_plain = is_unset(real, desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER) &&
                        is_unset(real, desc, CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER);
  return is_plain && (type == -1 || is_type_of_d) ? REASON_SERVED : REASON_EPILOGUE;
}

static enum reason read_epilogue(const struct cublaslt* real, const struct lt_call* call, struct product* product) {
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  if (!HOTGEMM_READ_DESC(real, call->desc, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue)) return REASON_HANDLE;
  product->epilogue = (cublasLtEpilogue_t)epilogue;
  if (has_scales(real, call->desc) || has_counters(real, call->desc)) return REASON_EPILOGUE;
  enum reason reason = REASON_SERVED;
  if ((epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) reason = read_bias(real, call->desc, product);
  if (reason == REASON_SERVED && (epilogue & kHasAuxiliary) != 0) reason = read_auxiliary(real, call->desc, product);
  return reason;
}

static enum reason read_operation(const struct cublaslt* real, const struct lt_call* call, struct product* product) {
  int32_t compute = 0, scale = 0, pointer_mode = 0, op_a = 0, op_b = 0, op_c = 0, fill_mode = 0;
  if (call->desc == NULL) return REASON_HANDLE;
  if (!HOTGEMM_READ_DESC(real, call->desc, CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, compute) ||
      !HOTGEMM_READ_DESC(real, call->desc, CUBLASLT_MATMUL_DESC_SCALE_TYPE, scale) ||
      !HOTGEMM_READ_DESC(real, call->desc, CUBLASLT_MATMUL_DESC_POINTER_MODE, pointer_mode) ||
      !HOTGEMM_READ_DESC(real, call->desc, CUBLASLT_MATMUL_DESC_TRANSA, op_a) ||
      !HOTGEMM_READ_DESC(real, call->desc, CUBLASLT_MATMUL_DESC_TRANSB, op_b) ||
      !HOTGEMM_READ_DESC(real, call->desc, CUBLASLT_MATMUL_DESC_TRANSC, op_c) ||
      !HOTGEMM_READ_DESC(real, call->desc, CUBLASLT_MATMUL_DESC_FILL_MODE, fill_mode) ||
      !HOTGEMM_READ_DESC(real, call->desc, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, product->sm_target)) {
    return REASON_HANDLE;
  }
  product->compute = (cublasComputeType_t)compute;
  product->scale = (cudaDataType)scale;
  product->op_a = (cublasOperation_t)op_a;
  product->op_b = (cublasOperation_t)op_b;
  product->alpha = call->alpha;
  product->beta = call->beta;
  if (pointer_mode != CUBLASLT_POINTER_MODE_HOST) return REASON_SCALARS;
  if (op_c != CUBLAS_OP_N || fill_mode != CUBLAS_FILL_MODE_FULL) return REASON_LAYOUT;
  return REASON_SERVED;
}

// cuBLASLt 13.4 has a scalar for each product of a batch. A library without them does not know the attributes.
static bool has_scalars_of_products(const struct cublaslt* real, cublasLtMatmulDesc_t desc,
                                    const struct product* product) {
  int64_t alpha = 0, beta = 0;
  if (product->batch == 1) return false;
  return (HOTGEMM_READ_DESC(real, desc, kDescAlphaStride, alpha) && alpha != 0) ||
         (HOTGEMM_READ_DESC(real, desc, kDescBetaStride, beta) && beta != 0);
}

// A library without emulation does not know the attribute. Elements of 16 bits are multiplied as they are.
static bool is_emulated(const struct cublaslt* real, const struct lt_call* call, const struct product* product) {
  const void* emulation = NULL;
  return product->a.type == CUDA_R_32F && HOTGEMM_READ_DESC(real, call->desc, kDescEmulation, emulation) &&
         emulation != NULL;
}

enum reason read_lt_call(const struct cublaslt* real, const struct lt_call* call, struct product* product) {
  *product = (struct product){0};
  if (real->cublasLtMatmulDescGetAttribute == NULL || real->cublasLtMatrixLayoutGetAttribute == NULL) {
    return REASON_HANDLE;
  }
  enum reason reason = read_operation(real, call, product);
  if (reason == REASON_SERVED) reason = read_layouts(real, call, product);
  if (reason == REASON_SERVED && has_scalars_of_products(real, call->desc, product)) reason = REASON_SCALARS;
  if (reason == REASON_SERVED && is_emulated(real, call, product)) reason = REASON_ARITHMETIC;
  if (reason == REASON_SERVED) reason = read_epilogue(real, call, product);
  return reason;
}
