// The kernels that replace aten::mm and aten::bmm, and try aten::addmm.
//
// An override loses the checks that PyTorch's own kernel is wrapped in, so they are made here, with PyTorch's words.

#include "torch/export.hpp"
#include "torch/launch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace hotgemm::torch {
namespace {

std::string size_text(const Tensor& tensor) {
  return std::to_string(tensor.sizes[0]) + "x" + std::to_string(tensor.sizes[1]);
}

std::string device_text(const Tensor& tensor) {
  if (tensor.device_type != shim().type_cuda()) return "another kind of device";
  return "cuda:" + std::to_string(tensor.device_index);
}

void check_devices(const Tensor& a, const Tensor& b, const char* name, const char* kernel) {
  if (same_device(a, b)) return;
  throw std::runtime_error("Expected all tensors to be on the same device, but got " + std::string(name) + " on " +
                           device_text(b) + ", different from other tensors on " + device_text(a) +
                           " (when checking argument in method hotgemm's " + kernel + ")");
}

void check_mm(const Tensor& a, const Tensor& b) {
  check_devices(a, b, "mat2", "mm");
  if (a.dim != 2) throw std::runtime_error("mm: self must be a matrix, got " + std::to_string(a.dim) + "-D tensor");
  if (b.dim != 2) throw std::runtime_error("mm: mat2 must be a matrix, got " + std::to_string(b.dim) + "-D tensor");
  if (a.sizes[1] != b.sizes[0]) {
    throw std::runtime_error("mm: mat1 and mat2 shapes cannot be multiplied (" + size_text(a) + " and " + size_text(b) +
                             ")");
  }
  if (a.dtype != b.dtype) throw std::runtime_error("expected mat1 and mat2 of mm to have the same dtype");
}

void check_bmm(const Tensor& a, const Tensor& b) {
  check_devices(a, b, "mat2", "bmm");
  if (a.dim != 3) throw std::runtime_error("batch1 must be a 3D tensor");
  if (b.dim != 3) throw std::runtime_error("batch2 must be a 3D tensor");
  if (a.sizes[0] != b.sizes[0] || a.sizes[2] != b.sizes[1]) {
    throw std::runtime_error("Expected size for first two dimensions of batch2 tensor to be: [" +
                             std::to_string(a.sizes[0]) + ", " + std::to_string(a.sizes[2]) + "] but got: [" +
                             std::to_string(b.sizes[0]) + ", " + std::to_string(b.sizes[1]) + "].");
  }
  if (a.dtype != b.dtype) throw std::runtime_error("expected batch1 and batch2 of bmm to have the same dtype");
}

void check_out(const Tensor& a, const Tensor& out, const char* kernel) {
  check_devices(a, out, "out", kernel);
  if (a.dtype != out.dtype) throw std::runtime_error("Expected out tensor to have the dtype of the operands");
}

/// The two forms of one operator.
struct Override {
  Operator op;
  const char* name;
  void (*check)(const Tensor& a, const Tensor& b);
  Result (*Backend::*native)(Handle out, Handle a, Handle b);
};
constexpr Override kMm{Operator::mm, "mm", check_mm, &Backend::mm_out};
constexpr Override kBmm{Operator::bmm, "bmm", check_bmm, &Backend::bmm_out};

/// Why the product is not ours to compute; or what came of it.
Outcome attempt(const Override& self, const Tensor& a, const Tensor& b, const Tensor& out) {
  const auto refuse = [&](Outcome outcome) {
    Ledger::get().count(self.op, outcome);
    return outcome;
  };
  if (const Outcome admitted = admits(a); admitted != Outcome::served) return refuse(admitted);
  const auto ma = matrix_of(a), mb = matrix_of(b), md = matrix_of(out);
  if (!ma || !mb) return refuse(Outcome::strides);
  if (!md) return refuse(Outcome::out);
  Product product;
  if (!set_matrices(product, *element_of(a.dtype), *ma, *mb, *md)) return refuse(Outcome::empty);
  return launch(self.op, product, a, settings().flags);
}

void pass_on(const Override& self, const Tensor& a, const Tensor& b, const Owned& out) {
  if ((backend_of(a.device_type).*self.native)(out.get(), a.handle, b.handle) != 0) throw_of_torch(self.name);
}

/// a, b -> d
void run(const Override& self, Slot* stack) {
  const Owned first(stack[0]), second(stack[1]);
  const Tensor a = read(first), b = read(second);
  self.check(a, b);
  const DeviceGuard guard(a);
  const std::int64_t rows = a.sizes[a.dim - 2], cols = b.sizes[b.dim - 1];
  const std::array<std::int64_t, 3> sizes = {a.sizes[0], rows, cols};
  Owned out = empty_like(a, sizes.data() + (3 - a.dim), a.dim);
  if (attempt(self, a, b, read(out)) != Outcome::served) pass_on(self, a, b, out);
  stack[0] = out.release();
}

bool has_sizes_of_result(const Tensor& a, const Tensor& b, const Tensor& out) {
  return out.dim == a.dim && out.sizes[0] == a.sizes[0] && out.sizes[out.dim - 2] == a.sizes[a.dim - 2] &&
         out.sizes[out.dim - 1] == b.sizes[b.dim - 1];
}

bool shares_memory(const Tensor& operand, const Tensor& out) {
  const auto type = element_of(out.dtype);
  if (!type) return false;  // it is passed on in any case, as what is no matrix is
  const auto read_from = matrix_of(operand), written = matrix_of(out);
  return read_from && written && overlap(*read_from, *written, element_bytes(*type));
}

/// The bytes from the first element of a tensor to behind the last, whatever its strides are.
std::int64_t span_bytes(const Tensor& tensor) {
  std::int64_t last = 0;
  for (std::int64_t i = 0; i < tensor.dim; ++i) last += (tensor.sizes[i] - 1) * tensor.strides[i];
  const auto type = element_of(tensor.dtype);
  return (last + 1) * (type ? element_bytes(*type) : 8);
}

/// True if the tensors may share memory: their addresses do.
bool touches(const Tensor& a, const Tensor& b) {
  const char *from_a = static_cast<const char*>(a.data), *from_b = static_cast<const char*>(b.data);
  return from_a < from_b + span_bytes(b) && from_b < from_a + span_bytes(a);
}

/// a, b, out -> out. PyTorch handles an output that must be resized, or that is an operand too.
void run_out(const Override& self, Slot* stack) {
  const Owned first(stack[0]), second(stack[1]);
  Owned out(stack[2]);
  const Tensor a = read(first), b = read(second), d = read(out);
  self.check(a, b);
  check_out(a, d, self.name);
  const DeviceGuard guard(a);
  if (!has_sizes_of_result(a, b, d) || shares_memory(a, d) || shares_memory(b, d)) {
    Ledger::get().count(self.op, Outcome::out);
    pass_on(self, a, b, out);
  } else if (attempt(self, a, b, d) != Outcome::served) {
    pass_on(self, a, b, out);
  }
  stack[0] = out.release();
}

/// Makes `self`, which broadcasts to the result, the bias or C of the product.
bool set_addend(Product& product, const Tensor& self, float beta) {
  if (beta == 0.0f) return true;
  const hotgemm_problem& problem = product.problem;
  if (self.dim == 0 || self.dim > 2 || self.sizes[self.dim - 1] != problem.n) return false;
  const bool dense = self.strides[self.dim - 1] == 1 || problem.n == 1;
  const bool one_row = self.dim == 1 || self.sizes[0] == 1 || self.strides[0] == 0;
  if (self.dim == 2 && self.sizes[0] != 1 && self.sizes[0] != problem.m) return false;
  if (!dense) return false;
  if (one_row && beta == 1.0f) {
    product.problem.bias = HOTGEMM_BIAS_PER_COLUMN;
    product.operands.bias = self.data;
    return true;
  }
  if (one_row && problem.m > 1) return false;  // a scaled bias
  std::int64_t row_stride = problem.n;         // of one row
  if (self.dim == 2) {
    const auto matrix = matrix_of(self);
    if (!matrix || (matrix->op != HOTGEMM_OP_N && problem.n > 1)) return false;
    row_stride = self.strides[0];
  }
  product.operands.c = self.data;
  product.operands.ldc = std::max(problem.n, row_stride);
  product.operands.beta = beta;
  return true;
}

/// The arguments of beta × self + alpha × (a × b).
struct Addmm {
  Tensor self, a, b;
  double beta, alpha;
};

/// True if a kernel of ours is enqueued.
bool try_addmm(const Addmm& sum, const Tensor& out) {
  const auto& [self, a, b, beta, alpha] = sum;
  const auto refuse = [](Outcome outcome) {
    Ledger::get().count(Operator::addmm, outcome);
    return false;
  };
  if (const Outcome admitted = admits(a); admitted != Outcome::served) return refuse(admitted);
  const auto ma = matrix_of(a), mb = matrix_of(b), md = matrix_of(out);
  if (!ma || !mb) return refuse(Outcome::strides);
  if (!md || (md->op != HOTGEMM_OP_N && md->cols > 1)) return refuse(Outcome::out);
  Product product;
  product.operands.alpha = static_cast<float>(alpha);
  Matrix row_major = *md;
  row_major.op = HOTGEMM_OP_N;
  row_major.ld = std::max(md->cols, out.strides[0]);
  if (!set_matrices(product, *element_of(a.dtype), *ma, *mb, row_major)) return refuse(Outcome::empty);
  if (!set_addend(product, self, static_cast<float>(beta))) return refuse(Outcome::operand);
  return launch(Operator::addmm, product, a, settings().flags) == Outcome::served;
}

/// True if a tensor broadcasts to rows × cols.
bool broadcasts_to(const Tensor& tensor, std::int64_t rows, std::int64_t cols) {
  const std::int64_t dim = tensor.dim;
  return dim <= 2 && (dim < 1 || tensor.sizes[dim - 1] == 1 || tensor.sizes[dim - 1] == cols) &&
         (dim < 2 || tensor.sizes[0] == 1 || tensor.sizes[0] == rows);
}

/// True if a float holds the number. PyTorch raises an error where one would overflow.
bool is_float(double number) {
  return !std::isfinite(number) || std::abs(number) <= double{std::numeric_limits<float>::max()};
}

/// True if nothing is wrong with the operands. Errors are left to PyTorch's own kernel, with their classes and words,
/// and are not counted, as those of mm are not.
bool is_plain(const Addmm& sum) {
  const auto& [self, a, b, beta, alpha] = sum;
  return a.dim == 2 && b.dim == 2 && a.sizes[1] == b.sizes[0] && same_device(a, b) && same_device(a, self) &&
         a.dtype == b.dtype && a.dtype == self.dtype && broadcasts_to(self, a.sizes[0], b.sizes[1]);
}

/// True if the sum is ours to compute. Where the type is another, PyTorch's own kernel wants the scalars as they were.
bool admits_addmm(const Addmm& sum) {
  if (!is_plain(sum)) return false;
  if (element_of(sum.a.dtype)) return is_float(sum.beta) && is_float(sum.alpha);
  Ledger::get().count(Operator::addmm, Outcome::type);
  return false;
}

/// Enqueues the sum: a kernel of ours, or the one that PyTorch's own would run.
void compute(const Addmm& sum, const Owned& out) {
  if (try_addmm(sum, read(out))) return;
  const auto& [self, a, b, beta, alpha] = sum;
  const Backend& backend = backend_of(a.device_type);
  if (backend.addmm_out(out.get(), self.handle, a.handle, b.handle, beta, alpha) != 0) throw_of_torch("addmm");
}

Slot optional_of(Owned& tensor) {
  Slot* value = nullptr;
  if (shim().new_value == nullptr) {
    value = new Slot;  // PyTorch before 2.13 deletes it
  } else if (shim().new_value(&value) != 0) {
    throw_of_torch("returning the result of addmm");
  }
  *value = tensor.release();
  return reinterpret_cast<Slot>(value);
}

/// self, a, b, beta, alpha -> d, or nothing
void run_addmm(Slot* stack) {
  const Owned addend(stack[0]), first(stack[1]), second(stack[2]);
  const Addmm sum{read(addend), read(first), read(second), scalar_of(stack[3]), scalar_of(stack[4])};
  stack[0] = 0;
  if (!admits_addmm(sum)) return;
  const DeviceGuard guard(sum.a);
  const std::array<std::int64_t, 2> sizes = {sum.a.sizes[0], sum.b.sizes[1]};
  Owned out = empty_like(sum.a, sizes.data(), 2);
  compute(sum, out);
  stack[0] = optional_of(out);
}

/// self, a, b, beta, alpha, out -> whether it was computed
void run_addmm_out(Slot* stack) {
  const Owned addend(stack[0]), first(stack[1]), second(stack[2]), result(stack[5]);
  const Addmm sum{read(addend), read(first), read(second), scalar_of(stack[3]), scalar_of(stack[4])};
  const Tensor out = read(result);
  stack[0] = 0;
  if (!admits_addmm(sum)) return;
  const auto& [self, a, b, beta, alpha] = sum;
  const bool same_out = same_device(a, out) && a.dtype == out.dtype && has_sizes_of_result(a, b, out);
  if (!same_out || shares_memory(a, out) || shares_memory(b, out) || (beta != 0 && touches(self, out))) {
    return Ledger::get().count(Operator::addmm, Outcome::out);
  }
  const DeviceGuard guard(a);
  compute(sum, result);
  stack[0] = 1;
}

}  // namespace
}  // namespace hotgemm::torch

using namespace hotgemm::torch;

void hotgemm_torch_mm(Slot* stack, std::uint64_t, std::uint64_t) { run(kMm, stack); }
void hotgemm_torch_mm_out(Slot* stack, std::uint64_t, std::uint64_t) { run_out(kMm, stack); }
void hotgemm_torch_bmm(Slot* stack, std::uint64_t, std::uint64_t) { run(kBmm, stack); }
void hotgemm_torch_bmm_out(Slot* stack, std::uint64_t, std::uint64_t) { run_out(kBmm, stack); }
void hotgemm_torch_addmm(Slot* stack, std::uint64_t, std::uint64_t) { run_addmm(stack); }
void hotgemm_torch_addmm_out(Slot* stack, std::uint64_t, std::uint64_t) { run_addmm_out(stack); }
