#pragma once

#include "standin/script.hpp"

namespace hotgemm::standin {

/// What HOTGEMM_STANDIN_SCRIPT tells the stand-in of a process that no test is in, when it is loaded: rules
/// `symbol_part=rule` with semicolons between them, the last that matches a kernel counts.
///
///   nothing, wrong, nan, stray   what it does to D (standin.hpp), as do in_place_wrong, no_alpha and no_beta
///   fault, hang, crash           how it ends (script.hpp); "fault@4" from its fourth launch on
///   slow:US, speed:US            real and simulated time of a launch, in microseconds
///
/// "mps=1" is no kernel's: the GPU is shared through MPS. Ends the process at a rule that is none of these.
Script script_from_environment();

}  // namespace hotgemm::standin
