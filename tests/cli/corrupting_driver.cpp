#include "standin/standin.hpp"

// The stand-in driver for a program that cannot steer it: every GEMM kernel computes one element wrong. Its functions
// are those of the stand-in library that this one is linked to.

namespace {

__attribute__((constructor)) void corrupt_all() { standin_corrupt("hotgemm_", hotgemm::standin::Corruption::wrong); }

}  // namespace
