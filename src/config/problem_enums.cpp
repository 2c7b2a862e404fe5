#include "config/problem_enums.hpp"

#include "base/text.hpp"
#include "config/spelling.hpp"

#include <hotgemm/error.hpp>

namespace hotgemm {

std::string_view to_string(DType type) {
  const char* const name = element_type(type).name;
  return name != nullptr ? name : "";
}

std::string_view to_string(Op op) {
  switch (op) {
    case Op::n: return "n";
    case Op::t: return "t";
  }
  return {};
}

std::string_view to_string(ComputeType type) {
  switch (type) {
    case ComputeType::f32: return "f32";
    case ComputeType::f16: return "f16";
    case ComputeType::tf32: return "tf32";
    case ComputeType::s32: return "s32";
  }
  return {};
}

std::string_view to_string(ComputeMode mode) {
  switch (mode) {
    case ComputeMode::precise: return "precise";
    case ComputeMode::fast: return "fast";
  }
  return {};
}

std::string_view to_string(SumOrder order) {
  switch (order) {
    case SumOrder::any: return "any";
    case SumOrder::deterministic: return "deterministic";
    case SumOrder::batch_invariant: return "batch_invariant";
  }
  return {};
}

std::string_view to_string(BatchKind kind) {
  switch (kind) {
    case BatchKind::strided: return "strided";
    case BatchKind::pointers: return "pointers";
  }
  return {};
}

std::string_view to_string(GroupKind kind) {
  switch (kind) {
    case GroupKind::none: return "none";
    case GroupKind::rows: return "rows";
    case GroupKind::masked_rows: return "masked";
    case GroupKind::along_k: return "k";
  }
  return {};
}

std::string_view to_string(Scaling scaling) {
  switch (scaling) {
    case Scaling::none: return "none";
    case Scaling::tensor: return "tensor";
    case Scaling::vector: return "vector";
    case Scaling::block_1x128: return "block_1x128";
    case Scaling::block_128x128: return "block_128x128";
  }
  return {};
}

std::string_view to_string(Bias bias) {
  switch (bias) {
    case Bias::none: return "none";
    case Bias::per_column: return "column";
    case Bias::per_row: return "row";
  }
  return {};
}

std::string_view to_string(Activation activation) {
  switch (activation) {
    case Activation::none: return "none";
    case Activation::relu: return "relu";
    case Activation::gelu: return "gelu";
    case Activation::gelu_erf: return "gelu_erf";
    case Activation::silu: return "silu";
    case Activation::sigmoid: return "sigmoid";
    case Activation::tanh: return "tanh";
    case Activation::clamp: return "clamp";
    case Activation::drelu: return "drelu";
    case Activation::dgelu: return "dgelu";
    case Activation::dgelu_erf: return "dgelu_erf";
    case Activation::dsilu: return "dsilu";
    case Activation::dsigmoid: return "dsigmoid";
    case Activation::dtanh: return "dtanh";
  }
  return {};
}

std::string_view to_string(Gate gate) {
  switch (gate) {
    case Gate::none: return "none";
    case Gate::halves: return "halves";
    case Gate::interleaved: return "interleaved";
  }
  return {};
}

std::string_view to_string(WorkspaceClass workspace) {
  switch (workspace) {
    case WorkspaceClass::none: return "none";
    case WorkspaceClass::small: return "small";
    case WorkspaceClass::full: return "full";
  }
  return {};
}

DType parse_dtype(std::string_view text) { return parse_enum<DType>(type_word(text), "element type"); }
Op parse_op(std::string_view text) { return parse_enum<Op>(text, "operation"); }
ComputeType parse_compute_type(std::string_view text) { return parse_enum<ComputeType>(text, "compute type"); }

void fail_enum(std::string_view text, std::string_view what, const std::string& names) {
  throw Error(ErrorCode::invalid_argument, std::string(what) + " is " + in_quotes(text) + ": expected " + names);
}

}  // namespace hotgemm
