#pragma once

#include <stdbool.h>
#include <stdint.h>

// The settings of the interposer, read from the environment. docs/cublas.md describes the variables.
struct settings {
  bool is_on;
  bool serves_f32;
  bool has_plain_f32;     // no variable of cuBLAS asks for another arithmetic of f32
  uint32_t call_flags;    // of hotgemm_call: which calls may decline
  bool sets_policy;       // HOTGEMM_TUNE says nothing
  const char* library;    // the path of libhotgemm; null: beside the interposer, else where the loader searches
  const char* report_to;  // "1", or a path; null: there is no report
};

// Reads the environment when it is first called.
const struct settings* settings(void);
