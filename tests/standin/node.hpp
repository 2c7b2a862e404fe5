#pragma once

#include "standin/ledger.hpp"

namespace hotgemm::standin {

/// Runs `node` at once in `context` and advances the stream's clock by what it is said to take. A fault of a kernel
/// loses the context, which later calls report, as on a device; the result is for what the call itself must refuse.
CUresult run_node(Ledger& ledger, Context& context, StreamState& stream, const Node& node);

/// Runs `node` on `stream`, or adds it to the stream's capture.
CUresult submit(Ledger& ledger, CUstream stream, const Node& node);

/// The clock advance, in microseconds, of a kernel for which the test has set no speed: from its work and a rate that
/// hangs on its symbol alone, so that kernels differ and repetitions agree.
double default_duration_us(const std::string& symbol, const KernelNode& node);

}  // namespace hotgemm::standin
