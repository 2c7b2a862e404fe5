#pragma once

#include <hotgemm/hotgemm.h>

// The functions of libhotgemm that the interposer calls, and the default context.
struct hotgemm {
  hotgemm_context* context;
  __typeof__(&hotgemm_gemm) gemm;
  __typeof__(&hotgemm_problem_text) problem_text;
  __typeof__(&hotgemm_last_error) last_error;
  __typeof__(&hotgemm_context_default) context_default;
  __typeof__(&hotgemm_context_configure_default) context_configure_default;
};

// Opens libhotgemm when it is first called. Null if that failed: then a line on stderr has said why.
const struct hotgemm* open_hotgemm(void);
