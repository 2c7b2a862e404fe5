#pragma once

#include "standin/ledger.hpp"

namespace hotgemm::standin {

/// Runs `node` at once in `context` and advances the stream's clock by the simulated time. A fault of a kernel loses
/// the context, and later calls report that, as on a device. The result is the error of the call itself.
CUresult run_node(Ledger& ledger, Context& context, StreamState& stream, const Node& node);

/// Runs `node` on `stream`, or adds it to the stream's capture.
CUresult submit(Ledger& ledger, CUstream stream, const Node& node);

/// The simulated time, in microseconds, of a kernel for which the test has set no speed. It depends on the work and on
/// a rate derived only from the symbol, so that kernels differ and repetitions agree.
double default_duration_us(const std::string& symbol, const KernelNode& node);

}  // namespace hotgemm::standin
