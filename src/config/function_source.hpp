#pragma once

#include <hotgemm/gemm_types.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace hotgemm {

/// The source of an epilogue's function: lines that name its operands, and then a C++ expression.
///
///   // Keeps values between -cap and cap.
///   scalar cap
///   column scale
///   cap * tanh(scale * value / cap)
///
/// The kinds of operands are scalar, row, column and matrix.
///
/// The expression may use value, row, column and batch (a number from 0), and the functions that CUDA declares without
/// an include. A `#` may stand in lines of comment only: text that the digest does not see must not get in.
class FunctionSource {
 public:
  struct Operand {
    FunctionOperand kind;
    std::string name;
    int line;
  };

  /// `name` is the name of the file in messages. Throws Error{invalid_argument} that begins with name(line).
  FunctionSource(std::string_view text, std::string_view name);

  const std::string& name() const { return name_; }
  EpilogueFunction function() const { return function_; }
  /// SHA-256 over the text, 64 hex digits.
  const std::string& digest() const { return digest_; }
  const std::vector<Operand>& operands() const { return operands_; }
  /// The header kFunctionHeader, which defines the function for the kernels of templates/. The compiler names the
  /// user's file and line in what it says of the expression.
  std::string header() const { return header_of(name_); }
  /// SHA-256 over the header, which is equal for files of any name, 64 hex digits.
  std::string header_digest() const;

 private:
  std::string header_of(const std::string& file) const;
  [[noreturn]] void fail(int line, const std::string& why) const;
  void add_operand(FunctionOperand kind, std::string_view name, int line);

  std::string name_;
  std::string digest_;
  EpilogueFunction function_;
  std::vector<Operand> operands_;
  std::string expression_;  ///< all lines from the first one of the expression on
  int expression_line_ = 0;
};

/// The name by which a rendered unit includes the header of its function.
inline constexpr const char* kFunctionHeader = "epilogue_function.cuh";

/// The number of a function in 16 hex digits, its name in texts and in the symbols of kernels.
std::string to_string(const EpilogueFunction& function);
/// The inverse. Throws Error{invalid_argument}.
EpilogueFunction parse_function(std::string_view digits);

/// True for a function that a FunctionSource can have: all operands are of a kind that exists, without a gap.
bool is_well_formed(const EpilogueFunction& function) noexcept;

}  // namespace hotgemm
