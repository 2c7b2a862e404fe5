#pragma once

#include "standin/script.hpp"

namespace hotgemm::standin {

/// Reads HOTGEMM_STANDIN_SCRIPT, which controls the stand-in in processes other than the test's. It is read when the
/// stand-in is loaded. Its rules have the form `symbol_part=rule` and are separated by semicolons; the last rule that
/// matches a kernel counts.
///
///   nothing, wrong, nan, stray,
///   in_place_wrong, no_alpha,
///   no_beta                      the effect on D (standin.hpp)
///   fault, hang, crash           the end of the kernel (script.hpp); "fault@4" from its fourth launch on
///   slow:US, speed:US            real and simulated time of a launch, in microseconds
///
/// Two are for no kernel. "mps=1": the GPU is shared through MPS. "host=1": kernels may access all memory of the
/// process, as operands that are CPU tensors need it. Any other rule ends the process.
Script script_from_environment();

}  // namespace hotgemm::standin
