/*
 * hotgemm in C: the interface of libhotgemm.so, and the one that other languages use.
 *
 * Functions return a status, 0 for success; but those that destroy return nothing, and hotgemm_status_name,
 * hotgemm_version and hotgemm_last_error give text. No exception leaves a function. No
 * function ends the process. All functions may be called from any thread, at any time, unless their comment says
 * otherwise; a handle must not be used during or after its destruction.
 *
 * STRUCTS say their size. Begin each with its HOTGEMM_..._INIT, then set what differs:
 *
 *   hotgemm_problem problem = HOTGEMM_PROBLEM_INIT;
 *   problem.m = 4096;
 *
 * hotgemm_option has no size and never grows. Structs that only callbacks receive have no INIT. All others
 * grow at their end only and have no padding. A library that is newer than the program gives the fields that the
 * program does not know their defaults. A library that is older refuses the struct (HOTGEMM_NOT_SUPPORTED) if a field
 * that it does not know is not zero. For a struct that a function fills, `size` is the room that the caller has; the
 * function writes no byte beyond it.
 *
 * TEXT is UTF-8 and ends with a zero byte. A function that gives text takes a buffer and its size in bytes: it writes
 * as much as fits, and stores the length of the whole text, without the zero byte, in `*length` if `length` is not
 * null. A null buffer of size 0 asks for the length alone.
 *
 * CUDA CONTEXTS: calls use the current context of the thread. A thread that has none gets that of the stream for the
 * time of the call; or with hotgemm_call.device that of a device.
 *
 * A child of fork() gets HOTGEMM_FORKED if its parent had used CUDA through this library.
 */
#ifndef HOTGEMM_HOTGEMM_H
#define HOTGEMM_HOTGEMM_H

#include <hotgemm/version.h>

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__) || defined(__clang__)
#define HOTGEMM_C_API __attribute__((visibility("default")))
#else
#define HOTGEMM_C_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors ---- */

/* HOTGEMM_SUCCESS, or what went wrong. */
typedef int32_t hotgemm_status;
enum {
  HOTGEMM_SUCCESS = 0,
  HOTGEMM_INVALID_ARGUMENT = 1, /* an argument that no call may have; the message names it */
  HOTGEMM_NOT_SUPPORTED = 2,    /* a legal problem that no kernel computes on this GPU */
  HOTGEMM_NOT_PREPARED = 3,     /* declined: no kernel is in the cache, or none that meets the flags of the call */
  HOTGEMM_NO_DRIVER = 4,        /* libcuda cannot be loaded or initialised */
  HOTGEMM_NO_DEVICE = 5,        /* no GPU, or no current context */
  HOTGEMM_NO_COMPILER = 6,      /* libnvrtc cannot be loaded */
  HOTGEMM_COMPILE_FAILED = 7,   /* NVRTC rejected a kernel; the message holds its log */
  HOTGEMM_DRIVER_ERROR = 8,     /* a driver call failed; the message names the call and its result */
  HOTGEMM_OUT_OF_MEMORY = 9,    /* of the device or of the host */
  HOTGEMM_CONTEXT_LOST = 10,    /* an earlier error has made the CUDA context unusable; the process must end */
  HOTGEMM_WRONG_RESULT = 11,    /* no candidate passed the correctness check */
  HOTGEMM_IO_ERROR = 12,        /* a required file or directory cannot be used */
  HOTGEMM_FORKED = 13,          /* called in a child of fork(); CUDA does not survive that */
  HOTGEMM_INTERRUPTED = 14,     /* stopped on request */
  HOTGEMM_INTERNAL = 15         /* a bug in hotgemm */
};

/* "success", "invalid_argument", ...; "unknown" for any other number. The text is never freed. */
HOTGEMM_C_API const char* hotgemm_status_name(hotgemm_status status);
/* The message of the last function that failed on this thread; empty if none did. Writes as much of it as fits into
 * `buffer`, with a null at the end, and returns the length of the whole. Later successes do not change it. A
 * caller whose threads change between two calls, as in Go or with coroutines, sets hotgemm_call.error instead. */
HOTGEMM_C_API size_t hotgemm_last_error(char* buffer, size_t size);
/* The version of the library that runs: "0.1.0". The text is never freed. */
HOTGEMM_C_API const char* hotgemm_version(void);

/* ---- the problem ---- */

/* The type of an element. */
typedef int32_t hotgemm_type;
enum {
  HOTGEMM_F16 = 0,
  HOTGEMM_BF16 = 1,
  HOTGEMM_F32 = 2,
  HOTGEMM_E4M3 = 3,
  HOTGEMM_E5M2 = 4,
  HOTGEMM_S8 = 5,
  HOTGEMM_S32 = 6
};

enum { HOTGEMM_OP_N = 0, HOTGEMM_OP_T = 1 };
enum { HOTGEMM_COMPUTE_F32 = 0, HOTGEMM_COMPUTE_F16 = 1, HOTGEMM_COMPUTE_TF32 = 2, HOTGEMM_COMPUTE_S32 = 3 };
enum { HOTGEMM_PRECISE = 0, HOTGEMM_FAST = 1 };
enum { HOTGEMM_ORDER_ANY = 0, HOTGEMM_ORDER_DETERMINISTIC = 1, HOTGEMM_ORDER_BATCH_INVARIANT = 2 };
enum { HOTGEMM_BATCH_STRIDED = 0, HOTGEMM_BATCH_POINTERS = 1 };
enum { HOTGEMM_GROUPS_NONE = 0, HOTGEMM_GROUPS_ROWS = 1, HOTGEMM_GROUPS_MASKED_ROWS = 2, HOTGEMM_GROUPS_ALONG_K = 3 };
enum {
  HOTGEMM_SCALE_NONE = 0,
  HOTGEMM_SCALE_TENSOR = 1,
  HOTGEMM_SCALE_VECTOR = 2,
  HOTGEMM_SCALE_BLOCK_1X128 = 3,
  HOTGEMM_SCALE_BLOCK_128X128 = 4
};
enum { HOTGEMM_BIAS_NONE = 0, HOTGEMM_BIAS_PER_COLUMN = 1, HOTGEMM_BIAS_PER_ROW = 2 };
enum {
  HOTGEMM_ACTIVATION_NONE = 0,
  HOTGEMM_RELU = 1,
  HOTGEMM_GELU = 2,
  HOTGEMM_GELU_ERF = 3,
  HOTGEMM_SILU = 4,
  HOTGEMM_SIGMOID = 5,
  HOTGEMM_TANH = 6,
  HOTGEMM_CLAMP = 7,
  HOTGEMM_DRELU = 8, /* from here on: the value times the slope at hotgemm_operands.auxiliary */
  HOTGEMM_DGELU = 9,
  HOTGEMM_DGELU_ERF = 10,
  HOTGEMM_DSILU = 11,
  HOTGEMM_DSIGMOID = 12,
  HOTGEMM_DTANH = 13
};

/* The columns of the product of which one, after the activation, multiplies the other: those of column j of D, which
 * has n / 2. */
enum {
  HOTGEMM_GATE_NONE = 0,
  HOTGEMM_GATE_HALVES = 1,     /* j and n / 2 + j */
  HOTGEMM_GATE_INTERLEAVED = 2 /* 2j and 2j + 1 */
};

/*
 * The computation, without pointers: D = alpha * op(A) * op(B) + beta * C.
 *
 * All matrices are row-major. op(A) is m x k, op(B) is k x n, C and D are m x n, D with a gate m x n / 2; a matrix with
 * HOTGEMM_OP_T is stored transposed. Column-major users swap the operands: a column-major m x n product is the
 * row-major n x m product of B and A. <hotgemm/problem.hpp> says which types kernels compute, and what each field
 * means; a problem that none computes is HOTGEMM_NOT_SUPPORTED, and the message names the field.
 */
typedef struct hotgemm_problem {
  size_t size;        /* of this struct, as the caller knows it */
  int64_t m, n, k;    /* op(A) is m x k, op(B) k x n, D m x n (gated: n / 2); each at most 2147482623 */
  int32_t op_a, op_b; /* HOTGEMM_OP_... */
  hotgemm_type type_a, type_b, type_c, type_d; /* of the elements */
  int32_t compute;                             /* HOTGEMM_COMPUTE_...: the arithmetic of the sum over k */
  int32_t mode;                                /* HOTGEMM_PRECISE or HOTGEMM_FAST: differs for FP8 elements */
  int32_t order;                               /* HOTGEMM_ORDER_... */
  int32_t sm_limit;                            /* the most SMs that a kernel may occupy; 0: all */
  int64_t batch;                               /* the number of products; 0: nothing is done */
  int32_t batch_kind, group_kind;              /* HOTGEMM_BATCH_..., HOTGEMM_GROUPS_... */
  int64_t groups;                              /* zero if and only if group_kind is */
  /* The epilogue, in the order in which it is computed; gated is HOTGEMM_GATE_..., the others of the last six 0 or 1.
   */
  int32_t scale_a, scale_b;                             /* HOTGEMM_SCALE_... */
  int32_t bias;                                         /* HOTGEMM_BIAS_... */
  int32_t activation;                                   /* HOTGEMM_ACTIVATION_NONE, HOTGEMM_RELU, ... */
  int32_t aux, gated, residual, amax, scale_d, scalars; /* the parts that the problem has */
  int32_t prepacked_a, prepacked_b;                     /* 1: the operand has the form that hotgemm_pack gives it */
  uint64_t function;     /* a function in place of the activation: see hotgemm_add_function; 0: none */
  int32_t bits;          /* 1: the auxiliary matrix of HOTGEMM_RELU or HOTGEMM_DRELU has one bit for each element */
  int32_t bias_gradient; /* HOTGEMM_BIAS_..., of the sums of D that hotgemm_operands.bias_gradient gets */
} hotgemm_problem;

/* A problem of size 0 in f16 with f32 sums. */
#define HOTGEMM_PROBLEM_INIT                                                                                           \
  {                                                                                                                    \
    sizeof(hotgemm_problem), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
        0, 0                                                                                                           \
  }

/*
 * The addresses and strides of one call's operands, on the device but for alpha and beta. Leading dimensions and
 * distances are in elements. C may be null when beta is zero. D may be C itself with ldc == ldd; otherwise it
 * overlaps with none of A, B and C. <hotgemm/operands.hpp> says more of each field; the struct has the same layout.
 */
typedef struct hotgemm_operands {
  size_t size;                /* of this struct, as the caller knows it */
  const void* a;              /* m x k, or with HOTGEMM_OP_T k x m */
  const void* b;              /* k x n, or with HOTGEMM_OP_T n x k */
  const void* c;              /* m x n */
  void* d;                    /* m x n, written */
  int64_t lda, ldb, ldc, ldd; /* elements from one row as stored to the next */
  float alpha, beta;          /* factors of the product, and of C */
  const float* alpha_device;  /* alpha in device memory, if the problem has scalars */
  const float* beta_device;   /* beta, likewise */
  int64_t batch_stride_a, batch_stride_b, batch_stride_c, batch_stride_d; /* elements from one matrix to the next */
  const void* const* batch_a;                 /* an array in device memory, with the address of each matrix */
  const void* const* batch_b;                 /* as batch_a */
  const void* const* batch_c;                 /* as batch_a */
  void* const* batch_d;                       /* as batch_a */
  const void* bias;                           /* an element for each column of op(B), or each row of D */
  const void* residual;                       /* m x n, of the type of D */
  int64_t ld_residual, batch_stride_residual; /* in elements */
  void* auxiliary;                            /* m x n, of the type of D or of bits, written, or read by a derivative */
  int64_t ld_auxiliary, batch_stride_auxiliary; /* in elements */
  const float* scale_a;                         /* one factor, one for each row of op(A), or for each of its blocks */
  const float* scale_b;             /* one factor, one for each column of op(B), or for each of its blocks */
  const float* scale_d;             /* one factor */
  void* workspace;                  /* null: the library provides it */
  size_t workspace_bytes;           /* of `workspace` */
  const int32_t* group_offsets;     /* groups of rows or k: where each begins, and where the last ends, on the device */
  const void* function_operands[4]; /* of hotgemm_problem.function, in the order of its source */
  float clamp_low, clamp_high;      /* the limits of HOTGEMM_CLAMP */
  float* amax;                      /* one number, which grows to the largest absolute value */
  int64_t ld_function_operands[4];  /* of those that are matrices, m x n of the type of D */
  int64_t batch_stride_function_operands[4]; /* likewise */
  const int32_t* group_counts;               /* masked groups: the rows of each, in device memory */
  int64_t batch_stride_bias;                 /* from the bias of a group to the next one; 0: they share it */
  int16_t batch_align_a, batch_align_b, batch_align_c, batch_align_d; /* of addresses in arrays: 1 to 16; 0: 16 */
  int64_t ld_scale_a, ld_scale_b; /* of blocks: factors from one block of k to the next, of columns to the next */
  float* bias_gradient;           /* a number for each column of D, or each row, to which the sum of D is added */
} hotgemm_operands;

/* alpha is 1 and beta is 0. */
#define HOTGEMM_OPERANDS_INIT                                                                                      \
  {                                                                                                                \
    sizeof(hotgemm_operands), NULL, NULL, NULL, NULL, 0, 0, 0, 0, 1.0f, 0.0f, NULL, NULL, 0, 0, 0, 0, NULL, NULL,  \
        NULL, NULL, NULL, NULL, 0, 0, NULL, 0, 0, NULL, NULL, NULL, NULL, 0, NULL, {NULL, NULL, NULL, NULL}, 0.0f, \
        0.0f, NULL, {0, 0, 0, 0}, {0, 0, 0, 0}, NULL, 0, 0, 0, 0, 0, 0, 0, NULL                                    \
  }

/* Reads a problem from its text, as shape files and `hotgemm tune --shape` have it: "4096 4096 512 nt bf16 batch=8".
 * Keys that describe operands, such as align= and beta=, are refused: a hotgemm_problem cannot hold them. So are parts
 * for which problem->size, of an older version, leaves no field: HOTGEMM_NOT_SUPPORTED. */
HOTGEMM_C_API hotgemm_status hotgemm_problem_parse(const char* text, hotgemm_problem* problem);
/* Gives the text of a problem with the alignment of `operands`: a line for shape files, hotgemm_tune and
 * hotgemm_prewarm. `operands` may be null: then they are packed, and beta is zero. */
HOTGEMM_C_API hotgemm_status hotgemm_problem_text(const hotgemm_problem* problem, const hotgemm_operands* operands,
                                                  char* buffer, size_t size, size_t* length);

/* ---- contexts ---- */

/* The caches, records, compiler and plans. One is enough for a process: it serves all threads and GPUs. */
typedef struct hotgemm_context hotgemm_context;
/* A kernel that is loaded and ready for one problem class in one CUDA context. */
typedef struct hotgemm_plan hotgemm_plan;
/* A CUDA stream: CUstream and cudaStream_t are this type. */
typedef struct CUstream_st* hotgemm_stream;

/*
 * An option of a context, by name, with its value as text: {"policy", "estimate"}, {"cache_directory", "/var/cache/x"},
 * {"tuning.budget_s", "0.5"}, {"workspace_bytes", "512M"}, {"background.loads_kernels", "0"}. The names are those of
 * the fields of ContextOptions in <hotgemm/context.hpp>, with a dot for the options within options. Numbers of bytes
 * may end with K, M, G or T; lists of directories are separated by colons. An option that is not given has the value of
 * its environment variable, else its default. hotgemm_option_names lists them.
 */
typedef struct hotgemm_option {
  const char* name;  /* one of hotgemm_option_names */
  const char* value; /* as text */
} hotgemm_option;

/* The names of all options, one on each line. */
HOTGEMM_C_API hotgemm_status hotgemm_option_names(char* buffer, size_t size, size_t* length);

/* Makes a context with `count` options. Needs no GPU. */
HOTGEMM_C_API hotgemm_status hotgemm_context_create(const hotgemm_option* options, size_t count,
                                                    hotgemm_context** context);
/* Unloads the kernels and frees workspace; may wait for the GPU. Plans may be destroyed after it, but not launched.
 * Does nothing for null and for the default context. */
HOTGEMM_C_API void hotgemm_context_destroy(hotgemm_context* context);
/* The context of the process. It is made on first use and never destroyed. */
HOTGEMM_C_API hotgemm_status hotgemm_context_default(hotgemm_context** context);
/* Sets the options of the default context; HOTGEMM_INVALID_ARGUMENT if it has been made already. */
HOTGEMM_C_API hotgemm_status hotgemm_context_configure_default(const hotgemm_option* options, size_t count);

/* Gives in `*function` the number of a function for hotgemm_problem.function, which kernels of the context may have
 * from now on. `source` names up to four operands, each in a line of its own as `scalar NAME`, `row NAME`, `column
 * NAME` or `matrix NAME`, and then is a C++ expression of them and of value, row, column and batch: docs/epilogues.md
 * says more. `name` is the name of its file in messages of the compiler; null: "epilogue". Equal sources give equal
 * numbers. */
HOTGEMM_C_API hotgemm_status hotgemm_add_function(hotgemm_context* context, const char* source, const char* name,
                                                  uint64_t* function);

/* ---- products ---- */

enum {
  /* Flags that let a call decline: it returns HOTGEMM_NOT_PREPARED at once, without planning, compiling, loading or
   * waiting, unless the problem class has a plan in the CUDA context that meets all of them. */
  HOTGEMM_IF_PREPARED = 1, /* any plan */
  HOTGEMM_IF_TUNED = 2,    /* a plan whose kernel was measured for this class on this GPU model, or pinned */
  HOTGEMM_IF_AS_FAST = 4,  /* a plan whose record says that its kernel takes at most 1 % longer than cuBLAS's default */
  /* Beside one of these: a call that declines because its class has no plan lets a thread of the library make one,
   * without measuring, if it would meet the other flags. Later calls find it. Loading a kernel waits for the kernels
   * that run in the CUDA context, and holds up launches meanwhile. Only primary CUDA contexts are served, which are
   * those of the CUDA runtime. */
  HOTGEMM_PREPARE_LATER = 8
};

/* Things about a call that are neither problem nor operands. Null stands for HOTGEMM_CALL_INIT. */
typedef struct hotgemm_call {
  size_t size; /* of this struct, as the caller knows it */
  /* If the thread has no current CUDA context, the primary context of the device with this ordinal is current during
   * the call. -1: that of the stream. */
  int32_t device;
  uint32_t flags;    /* HOTGEMM_IF_... and HOTGEMM_PREPARE_LATER */
  char* error;       /* the message of a failure is written here, if this is not null */
  size_t error_size; /* bytes at `error` */
} hotgemm_call;

/* The context of the stream, no flags, no text. */
#define HOTGEMM_CALL_INIT \
  { sizeof(hotgemm_call), -1, 0, NULL, 0 }

/* Enqueues D = alpha * op(A) * op(B) + beta * C on `stream`. A new problem class is planned first, by the policy of the
 * context. After a failure no kernel has been enqueued, and D keeps its values. `call` may be null. */
HOTGEMM_C_API hotgemm_status hotgemm_gemm(hotgemm_context* context, const hotgemm_problem* problem,
                                          const hotgemm_operands* operands, hotgemm_stream stream,
                                          const hotgemm_call* call);
/* C = alpha * op(A) * op(B) + beta * C with all matrices of one type, in the default context. */
HOTGEMM_C_API hotgemm_status hotgemm_hgemm(hotgemm_stream stream, int32_t op_a, int32_t op_b, int64_t m, int64_t n,
                                           int64_t k, float alpha, const void* a, int64_t lda, const void* b,
                                           int64_t ldb, float beta, void* c, int64_t ldc, hotgemm_type type);

/* The policy says what may be done for a problem class that is new. */
typedef int32_t hotgemm_policy;
enum {
  HOTGEMM_POLICY_OF_CONTEXT = -1,
  HOTGEMM_CACHED_ONLY = 0, /* compile nothing, measure nothing */
  HOTGEMM_ESTIMATE = 1,    /* measure nothing */
  HOTGEMM_TUNE = 2,        /* measure a new class within a budget, and record the result */
  HOTGEMM_BACKGROUND = 3   /* estimate first, measure what recurs beside the program's work */
};

/* Makes the plan that hotgemm_gemm would use; its kernel is loaded when the function returns. `operands` say alignment
 * and whether beta is zero; null: packed rows, and beta is zero. */
HOTGEMM_C_API hotgemm_status hotgemm_plan_create(hotgemm_context* context, const hotgemm_problem* problem,
                                                 const hotgemm_operands* operands, hotgemm_policy policy,
                                                 hotgemm_stream stream, const hotgemm_call* call, hotgemm_plan** plan);
/* Does nothing for null. */
HOTGEMM_C_API void hotgemm_plan_destroy(hotgemm_plan* plan);
/* Enqueues the product. Operands have the alignment classes of the plan or better ones, and beta is zero if and only if
 * it was when the plan was made. The flags of `call` are not read. */
HOTGEMM_C_API hotgemm_status hotgemm_plan_launch(const hotgemm_plan* plan, const hotgemm_operands* operands,
                                                 hotgemm_stream stream, const hotgemm_call* call);
/* Replaces what the handle holds by the present plan of its class, and stores in `*replaced` whether that is another
 * one. No other thread may use the handle meanwhile. */
HOTGEMM_C_API hotgemm_status hotgemm_plan_refresh(hotgemm_context* context, hotgemm_plan* plan, int32_t* replaced);

enum { HOTGEMM_ORIGIN_TUNED = 0, HOTGEMM_ORIGIN_NEAREST = 1, HOTGEMM_ORIGIN_ESTIMATED = 2, HOTGEMM_ORIGIN_PINNED = 3 };

/* Facts about a plan. */
typedef struct hotgemm_plan_facts {
  size_t size;            /* of this struct, as the caller knows it */
  int32_t origin;         /* HOTGEMM_ORIGIN_... */
  int32_t registers;      /* per thread */
  int32_t spill_bytes;    /* stores and loads of spilled registers */
  int32_t smem_bytes;     /* shared memory per block */
  int32_t threads;        /* per block */
  int32_t reserved;       /* 0 */
  double compile_ms;      /* of the kernel's compilation, maybe by an earlier process */
  double distance;        /* to the recorded class, if the origin is nearest */
  double cublas_ratio;    /* time of cuBLAS's default / time of this kernel, of the record; 0: not measured */
  size_t workspace_bytes; /* device memory that a launch needs beside the operands */
} hotgemm_plan_facts;

/* Room for all facts. */
#define HOTGEMM_PLAN_FACTS_INIT \
  { sizeof(hotgemm_plan_facts), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Fills `*facts`. */
HOTGEMM_C_API hotgemm_status hotgemm_plan_get_facts(const hotgemm_plan* plan, hotgemm_plan_facts* facts);
/* The config's name: "wgmma_m256_n128_...". */
HOTGEMM_C_API hotgemm_status hotgemm_plan_config(const hotgemm_plan* plan, char* buffer, size_t size, size_t* length);
/* Config, origin and resources in one line for people. */
HOTGEMM_C_API hotgemm_status hotgemm_plan_explain(const hotgemm_plan* plan, char* buffer, size_t size, size_t* length);

/* ---- prepacked operands ---- */

enum { HOTGEMM_OPERAND_A = 0, HOTGEMM_OPERAND_B = 1 };

/* The bytes of device memory of the prepacked operand, and the leading dimension with which it is passed. */
HOTGEMM_C_API hotgemm_status hotgemm_prepacked_size(const hotgemm_problem* problem, int32_t operand, size_t* bytes,
                                                    int64_t* ld);
/* Enqueues a copy of the operand at `from`, whose rows are `ld` elements apart, into its prepacked form at `to`. */
HOTGEMM_C_API hotgemm_status hotgemm_pack(hotgemm_context* context, const hotgemm_problem* problem, int32_t operand,
                                          const void* from, int64_t ld, void* to, hotgemm_stream stream,
                                          const hotgemm_call* call);

/* ---- counters and logs ---- */

/* Counts since the context was made; the times are those that calling threads spent. */
typedef struct hotgemm_stats {
  size_t size;                /* of this struct, as the caller knows it */
  uint64_t plans;             /* problem classes planned */
  uint64_t tuned;             /* classes measured */
  uint64_t recorded;          /* answered by an exact record */
  uint64_t nearest;           /* answered by another class's record */
  uint64_t estimated;         /* answered by the model alone */
  uint64_t compiled;          /* kernels compiled, candidates included */
  uint64_t without_workspace; /* launches that found no workspace left, and ran a kernel that needs none */
  uint64_t launches;          /* calls that enqueued work */
  uint64_t declined;          /* calls that returned HOTGEMM_NOT_PREPARED because of their flags */
  uint64_t live_plans;        /* kept now */
  uint64_t evictions;         /* plans pushed out */
  uint64_t exchanged;         /* plans that tuning in the background has replaced */
  uint64_t waiting_classes;   /* classes that wait now for the background */
  uint64_t refused_cubins;    /* cubins that the driver refused to load */
  double planning_s;          /* of new classes */
  double compiling_s;         /* of kernels that a plan needed */
  double tuning_s;            /* of classes within calls */
  double waiting_s;           /* for another thread that planned the same class */
} hotgemm_stats;

/* Room for all counts. */
#define HOTGEMM_STATS_INIT \
  { sizeof(hotgemm_stats), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* Fills `*stats`. */
HOTGEMM_C_API hotgemm_status hotgemm_get_stats(hotgemm_context* context, hotgemm_stats* stats);
/* The numbers of hotgemm_stats, and those of the kernel cache, as Prometheus text. */
HOTGEMM_C_API hotgemm_status hotgemm_metrics(hotgemm_context* context, char* buffer, size_t size, size_t* length);

/* Receives log messages, on the thread that logs: of the caller or of the library, several at a time. Locks of the
 * library may be held, so it must not call hotgemm, and must not throw or longjmp. `level` is "debug", "info", "warn"
 * or "error". `message` ends with a zero byte. */
typedef void (*hotgemm_log_sink)(void* user, const char* level, const char* message);
/* Sends messages to `sink` instead of stderr; null restores stderr. When it returns, no thread runs the former sink. */
HOTGEMM_C_API hotgemm_status hotgemm_set_log_sink(hotgemm_log_sink sink, void* user);
/* "debug", "info", "warn", "error" or "off". */
HOTGEMM_C_API hotgemm_status hotgemm_set_log_level(const char* level);
/* Sets the file from which "libcuda", "libnvrtc", "libcublas" or "libcublasLt" is opened, before it is first needed. An
 * empty path takes the setting back. */
HOTGEMM_C_API hotgemm_status hotgemm_set_library_path(const char* library, const char* path);

#ifdef __cplusplus
}
#endif

#include <hotgemm/prepare.h> /* tuning, prewarming, records */

#endif
