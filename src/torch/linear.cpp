// The kernels of hotgemm::linear and hotgemm::linear_with_aux: act(alpha × x × weightᵀ + bias) + residual as one
// kernel.
//
// A call that no kernel of ours computes goes to an operator in Python that is made of PyTorch's own.

#include "torch/export.hpp"
#include "torch/launch.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hotgemm::torch {
namespace {

constexpr std::pair<std::string_view, std::int32_t> kActivations[] = {{"none", HOTGEMM_ACTIVATION_NONE},
                                                                      {"relu", HOTGEMM_RELU},
                                                                      {"gelu", HOTGEMM_GELU},
                                                                      {"gelu_erf", HOTGEMM_GELU_ERF},
                                                                      {"silu", HOTGEMM_SILU},
                                                                      {"sigmoid", HOTGEMM_SIGMOID},
                                                                      {"tanh", HOTGEMM_TANH}};

/// Places of the stack.
enum Argument { kX, kWeight, kBias, kActivation, kResidual, kAlpha };

std::int32_t activation_of(Slot slot) {
  const char* text = nullptr;
  if (shim().string_c_str(reinterpret_cast<void*>(slot), &text) != 0) throw_of_torch("reading the activation");
  for (const auto& [name, number] : kActivations) {
    if (name == text) return number;
  }
  throw std::runtime_error("hotgemm::linear: there is no activation '" + std::string(text) +
                           "'; there are none, relu, gelu, gelu_erf, silu, sigmoid, tanh");
}

/// An optional tensor, which the stack keeps: it may be passed on.
std::optional<Tensor> optional_tensor(Slot slot) {
  if (slot == 0) return std::nullopt;
  return read(reinterpret_cast<Handle>(*reinterpret_cast<const Slot*>(slot)));
}

void delete_optional(Slot slot) {
  if (slot == 0) return;
  auto* value = reinterpret_cast<Slot*>(slot);
  { const Owned tensor(*value); }
  if (shim().delete_value != nullptr) {
    shim().delete_value(value);
  } else {
    delete value;
  }
}

/// Frees the arguments at the end, unless they have been given away.
class Arguments {
 public:
  explicit Arguments(Slot* stack) { std::memcpy(slots_.data(), stack, sizeof slots_); }
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;
  ~Arguments() {
    if (given_away_) return;
    const Owned x(slots_[kX]), weight(slots_[kWeight]);
    delete_optional(slots_[kBias]);
    delete_optional(slots_[kResidual]);
    shim().delete_string(reinterpret_cast<void*>(slots_[kActivation]));
  }

  Slot operator[](Argument argument) const { return slots_[argument]; }
  void give_away() { given_away_ = true; }

 private:
  std::array<Slot, 6> slots_;
  bool given_away_ = false;
};

void set_residual(Product& product, const Matrix& residual) {
  product.problem.residual = 1;
  product.operands.residual = residual.data;
  product.operands.ld_residual = residual.ld;
}

/// True if d is enqueued, and with `aux` also the values before the activation.
bool try_linear(const Arguments& arguments, std::int32_t activation, const Tensor& x, const Tensor& weight,
                const Tensor& out, const std::optional<Tensor>& aux) {
  const auto refuse = [](Outcome outcome) {
    Ledger::get().count(Operator::linear, outcome);
    return false;
  };
  if (!element_of(x.dtype) || !same_device(x, weight)) return refuse(Outcome::type);
  const auto rows = rows_of(x), w = matrix_of(weight), d = rows_of(out);
  if (!rows || !w || !d) return refuse(Outcome::strides);
  Matrix row_major = *d;  // packed, so it may also be called a column
  row_major.op = HOTGEMM_OP_N;
  row_major.ld = d->cols;
  Product product;
  if (!set_matrices(product, *element_of(x.dtype), *rows, transposed(*w), row_major)) return refuse(Outcome::empty);
  product.operands.alpha = static_cast<float>(scalar_of(arguments[kAlpha]));
  product.problem.activation = activation;
  if (const auto bias = optional_tensor(arguments[kBias])) {
    const bool is_dense = product.problem.n == 1 || bias->strides[0] == 1;
    if (!is_dense || !same_device(*bias, x)) return refuse(Outcome::operand);
    product.problem.bias = HOTGEMM_BIAS_PER_COLUMN;
    product.operands.bias = bias->data;
  }
  if (const auto residual = optional_tensor(arguments[kResidual])) {
    const auto matrix = rows_of(*residual);
    const bool fits = same_device(*residual, x) && matrix && (matrix->op == HOTGEMM_OP_N || matrix->cols == 1);
    if (!fits) return refuse(Outcome::operand);
    Matrix addend = *matrix;
    if (addend.op == HOTGEMM_OP_T) addend.ld = 1;  // a packed column
    set_residual(product, addend);
  }
  if (aux) {
    product.problem.aux = 1;
    product.operands.auxiliary = aux->data;
    product.operands.ld_auxiliary = row_major.ld;
  }
  constexpr std::uint32_t kNoFlags = 0;  // who calls the operator asks for it: a new class is planned now
  return launch(Operator::linear, product, x, kNoFlags) == Outcome::served;
}

std::string shape_text(const std::int64_t* sizes, std::int64_t dim) {
  std::string text = "(";
  for (std::int64_t i = 0; i < dim; ++i) text += (i > 0 ? ", " : "") + std::to_string(sizes[i]);
  return text + ")";
}

void check_type(const Tensor& x, const Tensor& other, const char* name) {
  if (other.dtype == x.dtype) return;
  throw std::runtime_error("hotgemm::linear: expected x and " + std::string(name) + " to have the same dtype");
}

/// The checks of the operator in Python, in its words: PyTorch before 2.13 does not hand a message on. The sizes of the
/// result.
std::vector<std::int64_t> check_linear(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                                       const std::optional<Tensor>& residual) {
  if (weight.dim != 2 || x.dim < 1) {
    throw std::runtime_error("hotgemm::linear: x has " + std::to_string(x.dim) + " dimensions and weight " +
                             std::to_string(weight.dim) + "; at least 1 and 2 are needed");
  }
  if (x.sizes[x.dim - 1] != weight.sizes[1]) {
    throw std::runtime_error("hotgemm::linear: x and weight shapes cannot be multiplied (" +
                             shape_text(x.sizes, x.dim) + " and " + shape_text(weight.sizes, 2) + ")");
  }
  check_type(x, weight, "weight");
  if (bias) check_type(x, *bias, "bias");
  if (residual) check_type(x, *residual, "residual");
  std::vector<std::int64_t> sizes(x.sizes, x.sizes + x.dim);  // a tensor may have any number of dimensions
  sizes.back() = weight.sizes[0];
  if (bias && (bias->dim != 1 || bias->sizes[0] != weight.sizes[0])) {
    throw std::runtime_error("hotgemm::linear: bias has the shape " + shape_text(bias->sizes, bias->dim) +
                             ", the result " + shape_text(sizes.data(), x.dim));
  }
  if (residual && (residual->dim != x.dim || !std::equal(sizes.begin(), sizes.end(), residual->sizes))) {
    throw std::runtime_error("hotgemm::linear: residual has the shape " + shape_text(residual->sizes, residual->dim) +
                             ", the result " + shape_text(sizes.data(), x.dim));
  }
  return sizes;
}

void run_linear(Slot* stack, bool with_aux) {
  Arguments arguments(stack);
  const Tensor x = read(reinterpret_cast<Handle>(arguments[kX]));
  const Tensor weight = read(reinterpret_cast<Handle>(arguments[kWeight]));
  const std::int32_t activation = activation_of(arguments[kActivation]);  // a wrong name is an error whoever computes
  const auto sizes = check_linear(x, weight, optional_tensor(arguments[kBias]), optional_tensor(arguments[kResidual]));
  {
    const DeviceGuard guard(x);
    Owned out = empty_like(x, sizes.data(), x.dim);
    Owned aux = with_aux ? empty_like(x, sizes.data(), x.dim) : Owned();
    if (try_linear(arguments, activation, x, weight, read(out), with_aux ? std::optional(read(aux)) : std::nullopt)) {
      stack[0] = out.release();
      if (with_aux) stack[1] = aux.release();
      return;
    }
  }
  shim().delete_string(reinterpret_cast<void*>(arguments[kActivation]));
  arguments.give_away();
  stack[kActivation] = static_cast<Slot>(activation);
  const char* name = with_aux ? "hotgemm::linear_with_aux_by_torch" : "hotgemm::linear_by_torch";
  if (shim().call_dispatcher(name, "", stack, kShimVersion) != 0) throw_of_torch("hotgemm::linear");
}

}  // namespace
}  // namespace hotgemm::torch

using namespace hotgemm::torch;

void hotgemm_torch_linear(Slot* stack, std::uint64_t, std::uint64_t) { run_linear(stack, false); }
void hotgemm_torch_linear_with_aux(Slot* stack, std::uint64_t, std::uint64_t) { run_linear(stack, true); }
