#include "torch/launch.hpp"

#include "torch/export.hpp"

#include <atomic>

namespace hotgemm::torch {
namespace {

// Each alone: a call that overlaps with a change may see some of it, which no call can tell from an earlier or later
// one.
std::atomic<std::uint32_t> flags{0};
std::atomic<std::int32_t> order{HOTGEMM_ORDER_ANY};
std::atomic<bool> serves_f32{false};

Outcome outcome_of(hotgemm_status status) {
  switch (status) {
    case HOTGEMM_SUCCESS: return Outcome::served;
    case HOTGEMM_NOT_PREPARED: return Outcome::declined;
    case HOTGEMM_NOT_SUPPORTED: return Outcome::not_supported;
    default: return Outcome::failed;
  }
}

hotgemm_status enqueue(const Product& product, hotgemm_stream stream, const hotgemm_call& call) {
  static std::atomic<hotgemm_context*> context{nullptr};
  hotgemm_context* used = context.load(std::memory_order_acquire);
  if (used == nullptr) {
    if (const hotgemm_status status = shim().context_default(&used)) return status;
    context.store(used, std::memory_order_release);
  }
  return shim().gemm(used, &product.problem, &product.operands, stream, &call);
}

}  // namespace

Settings settings() {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  return {flags.load(kRelaxed), order.load(kRelaxed), serves_f32.load(kRelaxed)};
}

DeviceGuard::DeviceGuard(const Tensor& on) : backend_(backend_of(on.device_type)) {
  if (backend_.create_guard == nullptr) return;
  std::int32_t current = -1;
  if (backend_.current_device(&current) == 0 && current == on.device_index) return;
  if (backend_.create_guard(on.device_index, &guard_) != 0) throw_of_torch("changing the current device");
}

DeviceGuard::~DeviceGuard() {
  if (guard_ != nullptr) backend_.delete_guard(guard_);
}

Outcome admits(const Tensor& operand) {
  const auto type = element_of(operand.dtype);
  if (!type) return Outcome::type;
  return *type == HOTGEMM_F32 && !settings().serves_f32 ? Outcome::f32 : Outcome::served;
}

bool set_matrices(Product& product, hotgemm_type type, const Matrix& a, const Matrix& b, const Matrix& d) {
  if (a.rows == 0 || a.cols == 0 || b.cols == 0 || d.batch == 0) return false;
  if (d.op == HOTGEMM_OP_T) return set_matrices(product, type, transposed(b), transposed(a), transposed(d));
  hotgemm_problem& problem = product.problem;
  problem.m = a.rows;
  problem.n = b.cols;
  problem.k = a.cols;
  problem.op_a = a.op;
  problem.op_b = b.op;
  problem.type_a = problem.type_b = problem.type_c = problem.type_d = type;
  problem.order = settings().order;
  problem.batch = d.batch;
  hotgemm_operands& operands = product.operands;
  operands.a = a.data;
  operands.b = b.data;
  operands.d = d.data;
  operands.lda = a.ld;
  operands.ldb = b.ld;
  operands.ldd = d.ld;
  operands.batch_stride_a = a.batch_stride;
  operands.batch_stride_b = b.batch_stride;
  operands.batch_stride_d = d.batch_stride;
  return true;
}

Outcome launch(Operator op, Product& product, const Tensor& on, std::uint32_t call_flags) {
  product.device = on.device_index >= 0 ? on.device_index : 0;
  const Backend& backend = backend_of(on.device_type);
  void* stream = nullptr;
  if (backend.current_stream != nullptr && backend.current_stream(product.device, &stream) != 0) {
    throw_of_torch("asking for the current stream");
  }
  hotgemm_call call = HOTGEMM_CALL_INIT;
  call.device = product.device;
  call.flags = call_flags;
  const hotgemm_status status = enqueue(product, static_cast<hotgemm_stream>(stream), call);
  const Outcome outcome = outcome_of(status);
  Ledger::get().count(op, outcome, product);
  return outcome;
}

}  // namespace hotgemm::torch

using namespace hotgemm::torch;

void hotgemm_torch_configure(const hotgemm_torch_settings* settings) {
  flags = settings->flags;
  order = settings->order;
  serves_f32 = settings->serves_f32 != 0;
}
