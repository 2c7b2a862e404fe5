#pragma once

#include "records/trace.hpp"
#include "runtime/engine.hpp"

#include <string>

namespace hotgemm {

/// Where samples are taken: `version` of hotgemm, the environment, and the digests of all families' templates. The
/// toolchain is that of this process where `environment` has none.
TraceHeader trace_header(std::string version, Environment environment, const Engine& engine);

}  // namespace hotgemm
