#pragma once

#include "interpose/library.h"
#include "interpose/reason.h"

// The report at exit, where HOTGEMM_CUBLAS_REPORT asks for one; else these functions do nothing. They may be called
// from any thread.

// Counts a call.
void report_call(enum reason reason);
// Notes the problem of a call that was declined, as a line for `hotgemm tune --shapes`.
void report_problem(const struct hotgemm* hotgemm, const hotgemm_problem* problem, const hotgemm_operands* operands);
// Notes hotgemm's message for the first call that was not served for `reason`.
void report_failure(const struct hotgemm* hotgemm, enum reason reason);
