#include "interpose/translate.h"

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

// The types that are served. Each compute type here is the plain one: the FAST ones round elements, the PEDANTIC ones
// ask for one order of operations, and emulation is another arithmetic.
static const struct served_types {
  cudaDataType a, d;
  cublasComputeType_t compute;
  cudaDataType scale;
  hotgemm_type our_a, our_d;
  int32_t our_compute;
} kServedTypes[] = {
    {CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, CUDA_R_32F, HOTGEMM_BF16, HOTGEMM_BF16, HOTGEMM_COMPUTE_F32},
    {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, HOTGEMM_BF16, HOTGEMM_F32, HOTGEMM_COMPUTE_F32},
    {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, CUDA_R_32F, HOTGEMM_F16, HOTGEMM_F16, HOTGEMM_COMPUTE_F32},
    {CUDA_R_16F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, HOTGEMM_F16, HOTGEMM_F32, HOTGEMM_COMPUTE_F32},
    {CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_16F, CUDA_R_16F, HOTGEMM_F16, HOTGEMM_F16, HOTGEMM_COMPUTE_F16},
    {CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, CUDA_R_32F, HOTGEMM_F32, HOTGEMM_F32, HOTGEMM_COMPUTE_F32},
    {CUDA_R_8I, CUDA_R_32I, CUBLAS_COMPUTE_32I, CUDA_R_32I, HOTGEMM_S8, HOTGEMM_S32, HOTGEMM_COMPUTE_S32},
};

static enum reason set_types(const struct product* p, hotgemm_problem* problem) {
  if (p->a.type != p->b.type || p->c.type != p->d.type) return REASON_TYPES;
  for (size_t i = 0; i < sizeof kServedTypes / sizeof *kServedTypes; ++i) {
    const struct served_types* row = &kServedTypes[i];
    if (row->a != p->a.type || row->d != p->d.type || row->compute != p->compute || row->scale != p->scale) continue;
    problem->type_a = problem->type_b = row->our_a;
    problem->type_c = problem->type_d = row->our_d;
    problem->compute = row->our_compute;
    return REASON_SERVED;
  }
  return REASON_TYPES;
}

// The conjugate of a real matrix is the matrix.
static int32_t our_op(cublasOperation_t op) { return op == CUBLAS_OP_N ? HOTGEMM_OP_N : HOTGEMM_OP_T; }

static cublasOperation_t transposed(cublasOperation_t op) { return op == CUBLAS_OP_N ? CUBLAS_OP_T : CUBLAS_OP_N; }

static bool is_op(cublasOperation_t op) { return op == CUBLAS_OP_N || op == CUBLAS_OP_T || op == CUBLAS_OP_C; }

static enum reason set_sizes(const struct product* p, hotgemm_problem* problem) {
  if (p->m <= 0 || p->n <= 0 || p->k <= 0 || p->batch <= 0) return REASON_NO_ELEMENTS;
  if (!is_op(p->op_a) || !is_op(p->op_b)) return REASON_LAYOUT;
  problem->m = p->n;
  problem->n = p->m;
  problem->k = p->k;
  problem->batch = p->batch;
  problem->op_a = our_op(p->op_b);
  problem->op_b = our_op(p->op_a);
  problem->sm_limit = p->sm_target;
  return REASON_SERVED;
}

enum auxiliary { kNone, kWritten, kRead };

// The epilogues that are served. GELU is the one with tanh. Those with the gradient of a bias are not: cuBLAS stores it
// in the bias's type, and hotgemm adds it to numbers in f32.
static const struct served_epilogue {
  cublasLtEpilogue_t epilogue;
  int32_t our_activation;
  enum auxiliary auxiliary;
  bool has_bits;
} kServedEpilogues[] = {
    {CUBLASLT_EPILOGUE_DEFAULT, HOTGEMM_ACTIVATION_NONE, kNone, false},
    {CUBLASLT_EPILOGUE_BIAS, HOTGEMM_ACTIVATION_NONE, kNone, false},
    {CUBLASLT_EPILOGUE_RELU, HOTGEMM_RELU, kNone, false},
    {CUBLASLT_EPILOGUE_RELU_BIAS, HOTGEMM_RELU, kNone, false},
    {CUBLASLT_EPILOGUE_RELU_AUX, HOTGEMM_RELU, kWritten, true},
    {CUBLASLT_EPILOGUE_RELU_AUX_BIAS, HOTGEMM_RELU, kWritten, true},
    {CUBLASLT_EPILOGUE_DRELU, HOTGEMM_DRELU, kRead, true},
    {CUBLASLT_EPILOGUE_GELU, HOTGEMM_GELU, kNone, false},
    {CUBLASLT_EPILOGUE_GELU_BIAS, HOTGEMM_GELU, kNone, false},
    {CUBLASLT_EPILOGUE_GELU_AUX, HOTGEMM_GELU, kWritten, false},
    {CUBLASLT_EPILOGUE_GELU_AUX_BIAS, HOTGEMM_GELU, kWritten, false},
    {CUBLASLT_EPILOGUE_DGELU, HOTGEMM_DGELU, kRead, false},
};

static const struct served_epilogue* find_epilogue(cublasLtEpilogue_t epilogue) {
  for (size_t i = 0; i < sizeof kServedEpilogues / sizeof *kServedEpilogues; ++i) {
    if (kServedEpilogues[i].epilogue == epilogue) return &kServedEpilogues[i];
  }
  return NULL;
}

// The bias of cuBLAS has an element for each row of its D: for each column of ours. Columns of its auxiliary matrix are
// rows of ours, and so are those of bits.
static enum reason set_epilogue(const struct product* p, hotgemm_problem* problem, hotgemm_operands* operands) {
  const struct served_epilogue* served = find_epilogue(p->epilogue);
  if (served == NULL) return REASON_EPILOGUE;
  if ((p->epilogue & CUBLASLT_EPILOGUE_BIAS) != 0) {
    problem->bias = HOTGEMM_BIAS_PER_COLUMN;
    operands->bias = p->bias;
  }
  problem->activation = served->our_activation;
  if (served->auxiliary == kNone) return REASON_SERVED;
  problem->aux = served->auxiliary == kWritten;
  problem->bits = served->has_bits;
  operands->auxiliary = (void*)p->auxiliary.at;
  operands->ld_auxiliary = p->auxiliary.ld;
  operands->batch_stride_auxiliary = p->auxiliary.stride;
  return REASON_SERVED;
}

static float half_to_float(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const int fraction = bits & 1023;
  float value = 0;
  if (exponent == 31) {
    value = fraction == 0 ? INFINITY : NAN;
  } else {
    value = ldexpf((float)(exponent == 0 ? fraction : fraction | 1024), (exponent == 0 ? 1 : exponent) - 25);
  }
  return (bits & 0x8000) != 0 ? -value : value;
}

// False for a number that a float does not hold.
static bool read_scalar(const void* at, cudaDataType type, float* value) {
  if (at == NULL) return false;
  if (type == CUDA_R_16F) {
    uint16_t bits = 0;
    memcpy(&bits, at, sizeof bits);
    *value = half_to_float(bits);
  } else if (type == CUDA_R_32I) {
    int32_t number = 0;
    memcpy(&number, at, sizeof number);
    *value = (float)number;
    return number >= -(1 << 24) && number <= 1 << 24;
  } else {
    memcpy(value, at, sizeof *value);
  }
  return true;
}

static enum reason set_operands(const struct product* p, hotgemm_operands* operands) {
  if (!read_scalar(p->alpha, p->scale, &operands->alpha)) return REASON_SCALARS;
  if (!read_scalar(p->beta, p->scale, &operands->beta)) return REASON_SCALARS;
  operands->a = p->b.at;
  operands->lda = p->b.ld;
  operands->batch_stride_a = p->b.stride;
  operands->b = p->a.at;
  operands->ldb = p->a.ld;
  operands->batch_stride_b = p->a.stride;
  if (operands->beta != 0) {
    operands->c = p->c.at;
    operands->ldc = p->c.ld;
    operands->batch_stride_c = p->c.stride;
  }
  operands->d = (void*)p->d.at;
  operands->ldd = p->d.ld;
  operands->batch_stride_d = p->d.stride;
  return REASON_SERVED;
}

// The alignment that cuBLAS's manual demands of addresses in arrays, if it does. Only the kernel sees the addresses.
static int16_t demanded_alignment(const struct product* p, cudaDataType type) {
  const bool has_16_bits = type == CUDA_R_16F || type == CUDA_R_16BF;
  if (p->only_elements_are_aligned) return has_16_bits ? 2 : type == CUDA_R_8I ? 1 : 4;
  if (!has_16_bits) return 4;
  return p->k % 8 == 0 ? 16 : p->k % 2 == 0 ? 4 : 2;
}

static void set_arrays(const struct product* p, hotgemm_problem* problem, hotgemm_operands* operands) {
  problem->batch_kind = HOTGEMM_BATCH_POINTERS;
  operands->a = operands->b = operands->c = operands->d = NULL;
  operands->batch_a = p->b.at;
  operands->batch_b = p->a.at;
  if (operands->beta != 0) operands->batch_c = p->c.at;
  operands->batch_d = (void* const*)p->d.at;
  operands->batch_align_a = demanded_alignment(p, p->b.type);
  operands->batch_align_b = demanded_alignment(p, p->a.type);
  operands->batch_align_c = operands->batch_align_d = demanded_alignment(p, p->d.type);
}

// A row without gaps. Its leading dimension, 1, would hide its alignment.
static bool is_packed_row(const struct matrix* matrix, int64_t rows, int64_t cols) {
  return rows == 1 && cols > 1 && matrix->ld == 1;
}

// Describes a packed row as a column, which is the same memory. op(matrix) is rows x cols.
static void turn_to_column(struct matrix* matrix, cublasOperation_t* op, int64_t rows, int64_t cols) {
  if (!is_op(*op) || !is_packed_row(matrix, *op == CUBLAS_OP_N ? rows : cols, *op == CUBLAS_OP_N ? cols : rows)) return;
  matrix->ld = *op == CUBLAS_OP_N ? cols : rows;
  *op = transposed(*op);
}

// Describes a D that is a packed row as a column: that of the transposed product.
static void turn_d_to_column(struct product* p) {
  if (!is_packed_row(&p->c, p->m, p->n) || !is_packed_row(&p->d, p->m, p->n)) return;
  if (p->epilogue != CUBLASLT_EPILOGUE_DEFAULT || !is_op(p->op_a) || !is_op(p->op_b)) return;
  const struct product given = *p;
  p->m = given.n;
  p->n = 1;
  p->a = given.b;
  p->b = given.a;
  p->op_a = transposed(given.op_b);
  p->op_b = transposed(given.op_a);
  p->c.ld = p->d.ld = given.n;
}

// The same product with a column in place of each packed row.
static struct product with_columns(struct product p) {
  turn_d_to_column(&p);
  turn_to_column(&p.a, &p.op_a, p.m, p.k);
  turn_to_column(&p.b, &p.op_b, p.k, p.n);
  return p;
}

enum reason translate(const struct product* given, hotgemm_problem* problem, hotgemm_operands* operands) {
  const struct product turned = with_columns(*given), *product = &turned;
  *problem = (hotgemm_problem)HOTGEMM_PROBLEM_INIT;
  *operands = (hotgemm_operands)HOTGEMM_OPERANDS_INIT;
  enum reason reason = set_types(product, problem);
  if (reason == REASON_SERVED) reason = set_sizes(product, problem);
  if (reason == REASON_SERVED) reason = set_epilogue(product, problem, operands);
  if (reason == REASON_SERVED) reason = set_operands(product, operands);
  if (reason == REASON_SERVED && product->has_pointers) set_arrays(product, problem, operands);
  return reason;
}
