#include "standin/node.hpp"

#include "standin/compute.hpp"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <numeric>
#include <span>

namespace hotgemm::standin {
namespace {

constexpr double kLaunchUs = 2;
constexpr double kDeviceBytesPerUs = 4e6;
constexpr double kHostBytesPerUs = 5e4;

unsigned hash_text(const std::string& text) {
  unsigned hash = 0;
  for (const char letter : text) hash = hash_at(hash, static_cast<unsigned char>(letter), 0);
  return hash;
}

CUresult error_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::illegal_address: return CUDA_ERROR_ILLEGAL_ADDRESS;
    case Outcome::misaligned_address: return CUDA_ERROR_MISALIGNED_ADDRESS;
    case Outcome::good: break;
  }
  return CUDA_SUCCESS;
}

/// True if the script ends the kernel badly.
bool meets_fate(Ledger& ledger, Context& context, const std::string& symbol) {
  const auto fate = Script::latest(ledger.script.fates, symbol);
  if (!fate || ledger.script.launches(symbol) < fate->from_launch) return false;
  switch (fate->kind) {
    case Fate::Kind::fault: context.lost = CUDA_ERROR_ILLEGAL_ADDRESS; break;
    case Fate::Kind::hang: context.hung = true; break;
    case Fate::Kind::crash: std::raise(SIGSEGV); break;
  }
  return true;
}

/// The rows of all products of a launch, of masked groups those that their counts tell.
double rows_of(const KernelNode& node, const GemmArgs& gemm) {
  if (node.groups.offsets != 0) return gemm.m;  // groups divide one product
  if (node.groups.counts == 0) return static_cast<double>(gemm.m) * node.batch.count;
  const std::span counts(reinterpret_cast<const int*>(node.groups.counts), node.batch.count);
  return std::accumulate(counts.begin(), counts.end(), 0.0);
}

/// The simulated time of `node` on `stream`.
double duration_us(const Ledger& ledger, const StreamState& stream, const std::string& symbol, const KernelNode& node) {
  if (node.programmatic) {
    if (const auto speed = Script::latest(ledger.script.programmatic_speeds, symbol)) {
      return stream.last_kernel == node.function ? speed->in_chain_us : speed->behind_us;
    }
  }
  return Script::latest(ledger.script.speeds_us, symbol).value_or(default_duration_us(symbol, node));
}

CUresult run(Ledger& ledger, Context& context, StreamState& stream, const KernelNode& node) {
  Function* function = nullptr;
  if (const CUresult result = ledger.find(ledger.functions, node.function, "function", &function)) return result;
  if (function->context != context.id) {
    return ledger.violate(CUDA_ERROR_INVALID_HANDLE, function->name + " belongs to another context than its stream");
  }
  ledger.script.count_launch(function->name);
  if (meets_fate(ledger, context, function->name)) return CUDA_SUCCESS;
  const AddressSpace space{ledger.memory, context.id, ledger.script.reaches_host_memory};
  Outcome outcome = Outcome::good;
  if (std::holds_alternative<GemmArgs>(node.args)) {
    const auto corruption = Script::latest(ledger.script.corruptions, function->name);
    if (function->kernel.gemm.takes_workspace()) {
      ledger.use_workspace(context.id, node.workspace.counters, node.workspace_user);
      outcome = run_split(function->kernel.gemm, node, space, ledger.violations);
    }
    for (unsigned product = 0; product < node.batch.count && outcome == Outcome::good; ++product) {
      outcome = run_gemm(function->kernel.gemm, node, product, space, corruption.value_or(Corruption::none),
                         hash_text(function->name));
    }
  } else if (const auto* repack = std::get_if<RepackArgs>(&node.args)) {
    outcome = run_repack(*repack, space);
  } else if (const auto* fill = std::get_if<FillArgs>(&node.args)) {
    outcome = run_fill(*fill, space);
  } else if (const auto* digest = std::get_if<DigestArgs>(&node.args)) {
    outcome = run_digest(*digest, space);
  } else if (const auto* pointwise = std::get_if<PointwiseArgs>(&node.args)) {
    outcome = run_pointwise(*pointwise, space);
  } else {
    outcome = run_check(std::get<CheckArgs>(node.args), space);
  }
  if (outcome != Outcome::good) {
    context.lost = error_of(outcome);
    return CUDA_SUCCESS;
  }
  stream.clock_us += duration_us(ledger, stream, function->name, node);
  stream.last_kernel = node.function;
  return CUDA_SUCCESS;
}

CUresult outside(Ledger& ledger, const char* what) {
  return ledger.violate(CUDA_ERROR_INVALID_VALUE, std::string(what) + " outside of what is allocated in its context");
}

CUresult run(Ledger& ledger, Context& context, StreamState& stream, const MemsetNode& node) {
  const std::size_t bytes = node.count * node.element_bytes;
  if (node.to % node.element_bytes != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!ledger.memory.contains(context.id, node.to, bytes)) return outside(ledger, "memset");
  auto* to = reinterpret_cast<std::byte*>(node.to);
  for (std::size_t at = 0; at < bytes; at += node.element_bytes) std::memcpy(to + at, &node.value, node.element_bytes);
  stream.clock_us += kLaunchUs + static_cast<double>(bytes) / kDeviceBytesPerUs;
  return CUDA_SUCCESS;
}

CUresult run(Ledger& ledger, Context& context, StreamState& stream, const CopyNode& node) {
  if (!ledger.memory.contains(context.id, node.device, node.bytes)) return outside(ledger, "copy");
  void* device = reinterpret_cast<void*>(node.device);
  if (node.bytes > 0) std::memcpy(node.to_device ? device : node.host, node.to_device ? node.host : device, node.bytes);
  stream.clock_us += kLaunchUs + static_cast<double>(node.bytes) / kHostBytesPerUs;
  return CUDA_SUCCESS;
}

}  // namespace

double default_duration_us(const std::string& symbol, const KernelNode& node) {
  double us = kLaunchUs;
  if (const auto* gemm = std::get_if<GemmArgs>(&node.args)) {
    const double flops_per_us = (200 + hash_text(symbol) % 500) * 1e6;  // 200 to 700 TFLOP/s
    us += 2.0 * rows_of(node, *gemm) * gemm->n * gemm->k / flops_per_us;
  } else if (const auto* repack = std::get_if<RepackArgs>(&node.args)) {
    for (const RepackMatrix& operand : {repack->first, repack->second})
      us += static_cast<double>(operand.chunks() * operand.products) * 32 / kDeviceBytesPerUs;
  } else if (const auto* fill = std::get_if<FillArgs>(&node.args)) {
    us += static_cast<double>(fill->rows) * fill->cols * fill->matrices * size_bytes(fill->dtype) / kDeviceBytesPerUs;
  } else if (const auto* digest = std::get_if<DigestArgs>(&node.args)) {
    us += static_cast<double>(digest->bytes) / kDeviceBytesPerUs;
  } else if (const auto* pointwise = std::get_if<PointwiseArgs>(&node.args)) {
    us += 2 * static_cast<double>(pointwise->bytes) / kDeviceBytesPerUs;
  } else {
    const auto& check = std::get<CheckArgs>(node.args);
    us += static_cast<double>(check.m) * check.n * check.products * size_bytes(check.dtype) / kDeviceBytesPerUs;
  }
  return us;
}

CUresult run_node(Ledger& ledger, Context& context, StreamState& stream, const Node& node) {
  return std::visit([&](const auto& operation) { return run(ledger, context, stream, operation); }, node);
}

CUresult submit(Ledger& ledger, CUstream handle, const Node& node) {
  StreamState* stream = nullptr;
  if (const CUresult result = ledger.find_stream(handle, &stream)) return result;
  Context& context = *ledger.context_by_id(stream->context);
  if (stream->capture) {
    if (stream->capture->invalidated) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    stream->capture->nodes.push_back(node);
    return CUDA_SUCCESS;
  }
  if (stream == &context.legacy && ledger.blocks_legacy(context, true)) return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  return run_node(ledger, context, *stream, node);
}

}  // namespace hotgemm::standin
