#pragma once

#include "interpose/product.h"
#include "interpose/reason.h"

#include <hotgemm/hotgemm.h>

// Fills `problem` and `operands` with the row-major product that is the same as `product`: that of B and A, n x m. A
// row without gaps is described as a column, because a leading dimension of 1 would hide its alignment. Returns
// REASON_SERVED, or the reason why hotgemm cannot compute it.
enum reason translate(const struct product* product, hotgemm_problem* problem, hotgemm_operands* operands);
