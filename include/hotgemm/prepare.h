/*
 * The part of hotgemm's C interface that prepares problems before they are called, and controls tuning and records.
 * <hotgemm/hotgemm.h> includes it, and says what holds for all functions.
 */
#ifndef HOTGEMM_PREPARE_H
#define HOTGEMM_PREPARE_H

#include <hotgemm/hotgemm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The result for one problem. The texts live until the callback returns. */
typedef struct hotgemm_tune_result {
  size_t size;           /* of this struct, as the library knows it */
  const char* problem;   /* its text */
  const char* config;    /* the pick; empty if there is none */
  const char* launch;    /* how it is launched: "r8m", ... */
  const char* failure;   /* why there is no pick; empty if there is one */
  hotgemm_status status; /* HOTGEMM_SUCCESS if there is a pick */
  int32_t measured;      /* candidates that were checked and timed */
  int32_t was_recorded;  /* 1: an earlier record answered; nothing was measured */
  int32_t reserved;      /* 0 */
  double median_us;      /* of a launch of the pick */
  double tflops;         /* 2mnk operations in that time */
  double seconds;        /* of compiling, checking and measuring */
} hotgemm_tune_result;

/* Returns 1 to go on, 0 to stop. Called on the thread that called hotgemm_tune, with no lock held. It must not throw,
 * longjmp, or destroy the context. */
typedef int32_t (*hotgemm_tune_progress)(void* user, const hotgemm_tune_result* result);

/* Zero stands for the default of each field: that of TuneOptions. */
typedef struct hotgemm_tune_options {
  size_t size;                    /* of this struct, as the caller knows it */
  int32_t retune;                 /* 1: measure also what has a current record */
  int32_t max_candidates;         /* per problem */
  double budget_s;                /* for a problem */
  int64_t scratch_bytes;          /* of device memory, for operands */
  double scratch_share;           /* the largest part of the GPU's free memory for operands */
  int32_t jobs;                   /* compile threads */
  int32_t rounds;                 /* for the final comparison */
  uint64_t seed;                  /* for the data and the order of measurements */
  hotgemm_tune_progress progress; /* called after each problem; may be null */
  void* user;                     /* passed to `progress` */
} hotgemm_tune_options;

/* The defaults. */
#define HOTGEMM_TUNE_OPTIONS_INIT \
  { sizeof(hotgemm_tune_options), 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL }

/* Measures each of `count` problems, given as text, on the GPU of the current CUDA context, and records the picks.
 * HOTGEMM_INTERRUPTED if `progress` returned 0; else the status of the last problem that failed: see its message in the
 * result. `options` and `call` may be null. */
HOTGEMM_C_API hotgemm_status hotgemm_tune(hotgemm_context* context, const char* const* problems, size_t count,
                                          const hotgemm_tune_options* options, const hotgemm_call* call);

/* A kernel that would be picked, for one problem and architecture. The texts live until the callback returns. */
typedef struct hotgemm_prewarm_entry {
  size_t size;         /* of this struct, as the library knows it */
  const char* problem; /* its text */
  const char* arch;    /* "sm_90a", ... */
  const char* config;  /* its name */
  const char* failure; /* why it could not be built; empty if it was */
  int32_t origin;      /* HOTGEMM_ORIGIN_... */
  int32_t from_cache;  /* 1: it was there before */
  int32_t registers;   /* per thread */
  int32_t spill_bytes; /* stores and loads of spilled registers */
} hotgemm_prewarm_entry;

/* Numbers of distinct kernels. */
typedef struct hotgemm_prewarm_report {
  size_t size;                     /* of this struct, as the caller knows it */
  size_t compiled, cached, failed; /* by this call; found in the cache; not compiled */
  size_t stored;                   /* of those compiled and cached: lie in a layer on disk */
  size_t not_started;              /* because `progress` returned 0 */
} hotgemm_prewarm_report;

/* Room for all numbers. */
#define HOTGEMM_PREWARM_REPORT_INIT \
  { sizeof(hotgemm_prewarm_report), 0, 0, 0, 0, 0 }

/* The kernels that hotgemm_prewarm compiles, and their architectures. */
typedef struct hotgemm_prewarm_options {
  size_t size;              /* of this struct, as the caller knows it */
  const char* const* archs; /* "sm_90a", ... */
  size_t arch_count;        /* of `archs` */
  int32_t jobs;             /* compile threads; 0: chosen for the machine */
  int32_t candidates;       /* 1: compile the kernels too that the tuner would compile */
  /* Called after each kernel, on a compile thread, one call at a time. Returns 1 to go on, 0 to stop. Null: none. */
  int32_t (*progress)(void* user, size_t done, size_t total);
  /* Called at the end for each problem and architecture, on the thread that called hotgemm_prewarm. Null: none. */
  void (*entry)(void* user, const hotgemm_prewarm_entry* entry);
  void* user; /* passed to both */
} hotgemm_prewarm_options;

/* No architecture: set `archs`. */
#define HOTGEMM_PREWARM_OPTIONS_INIT \
  { sizeof(hotgemm_prewarm_options), NULL, 0, 0, 0, NULL, NULL, NULL }

/* Compiles the kernels that HOTGEMM_CACHED_ONLY needs for `count` problems, given as text. Needs neither a GPU nor
 * libcuda. Succeeds only if every kernel is stored on disk: else HOTGEMM_INTERRUPTED, HOTGEMM_COMPILE_FAILED or
 * HOTGEMM_IO_ERROR, and the report says how many. `report` may be null. */
HOTGEMM_C_API hotgemm_status hotgemm_prewarm(hotgemm_context* context, const char* const* problems, size_t count,
                                             const hotgemm_prewarm_options* options, hotgemm_prewarm_report* report);

/* ---- tuning beside the program's work ---- */

/* No new measurement begins until hotgemm_resume_tuning. */
HOTGEMM_C_API hotgemm_status hotgemm_pause_tuning(hotgemm_context* context);
/* Takes hotgemm_pause_tuning back. */
HOTGEMM_C_API hotgemm_status hotgemm_resume_tuning(hotgemm_context* context);
/* Ends the tunings that go on now. */
HOTGEMM_C_API hotgemm_status hotgemm_cancel_tuning(hotgemm_context* context);
/* Waits until no class waits for the background, at most `seconds`, and stores in `*done` whether that is so. */
HOTGEMM_C_API hotgemm_status hotgemm_wait_tuned(hotgemm_context* context, double seconds, int32_t* done);

/* ---- records ---- */

/* From now on the class runs the config of this name, as `hotgemm show` and hotgemm_plan_config name it. `launch` may
 * be null: the model's choice. An empty config takes it back. */
HOTGEMM_C_API hotgemm_status hotgemm_pin(hotgemm_context* context, const hotgemm_problem* problem,
                                         const hotgemm_operands* operands, const char* config, const char* launch,
                                         const hotgemm_call* call);
/* Forgets the plan of the class, and with `records` 1 also its records in the user's layer. */
HOTGEMM_C_API hotgemm_status hotgemm_forget(hotgemm_context* context, const hotgemm_problem* problem,
                                            const hotgemm_operands* operands, int32_t records);
/* Reads the records of all layers again, and stores in `*outdated` the number of plans that now have a better kernel.
 */
HOTGEMM_C_API hotgemm_status hotgemm_reload(hotgemm_context* context, size_t* outdated);
/* 64 hex digits: equal for processes that pick the same kernels. */
HOTGEMM_C_API hotgemm_status hotgemm_records_digest(hotgemm_context* context, char* buffer, size_t size,
                                                    size_t* length);

#ifdef __cplusplus
}
#endif

#endif
