#pragma once

#include "interpose/library.h"

#include <stddef.h>
#include <stdint.h>

// The problems that calls were declined for, each with its number of calls. The table is bounded: what comes when it is
// full is only counted.

// Adds a call. Takes a lock only for a problem that is new.
void add_met_problem(const struct hotgemm* hotgemm, const hotgemm_problem* problem, const hotgemm_operands* operands);

struct met_problem {
  const char* text;  // a line for `hotgemm tune --shapes`
  uint64_t calls;
};
enum { kMostMetProblems = 2048 };
// Copies the problems, those with the most calls first, and returns their number. `*calls_left_out` becomes the number
// of calls that the table had no place for.
size_t list_met_problems(struct met_problem list[kMostMetProblems], uint64_t* calls_left_out);
