#include "standin/standin.hpp"

// A stand-in driver for a program that cannot control it: every GEMM kernel computes one wrong element. Its functions
// are those of the stand-in library that it links.

namespace {

__attribute__((constructor)) void corrupt_all() { standin_corrupt("hotgemm_", hotgemm::standin::Corruption::wrong); }

}  // namespace
