#pragma once

#include "records/trace.hpp"
#include "runtime/engine.hpp"

#include <string>

namespace hotgemm {

/// The header of a trace: `version` of hotgemm, the environment, and the digests of all families' templates. If
/// `environment` has no toolchain, the toolchain is that of this process.
TraceHeader trace_header(std::string version, Environment environment, const Engine& engine);

}  // namespace hotgemm
