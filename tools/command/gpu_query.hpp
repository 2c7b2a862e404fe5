#pragma once

#include "runtime/engine.hpp"

namespace hotgemm::command {

/// The environment that records are compared with: the current templates, the driver and compiler if they are present,
/// and GPU `ordinal` with its power limit. A value that could not be read stays empty, and is not compared.
GpuQuery query_of(const Engine& engine, int ordinal);

}  // namespace hotgemm::command
