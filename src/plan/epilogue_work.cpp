#include "plan/epilogue_work.hpp"

namespace hotgemm {
namespace {

/// Instructions of an activation, or of its derivative. exp and the reciprocal take four slots each.
double activation_instructions(Activation activation) {
  switch (activation) {
    case Activation::none: return 0;
    case Activation::relu: return 1;
    case Activation::clamp:
    case Activation::drelu: return 4;
    case Activation::silu:
    case Activation::sigmoid: return 12;
    case Activation::gelu: return 15;
    case Activation::dsilu:
    case Activation::dsigmoid: return 18;
    case Activation::dgelu: return 22;
    case Activation::gelu_erf:
    case Activation::tanh:
    case Activation::dtanh: return 30;
    case Activation::dgelu_erf: return 40;
  }
  return 0;
}

/// Instructions for the value in front of the activation, in a config that is not transposed: a warp holds the elements
/// of vectors for a part of the tile, and gets those of columns by shuffles.
double linear_instructions(const Epilogue& e) {
  constexpr double kOfRows = 1.25, kOfColumns = 2.5;
  double instructions = 2;
  if (e.scale_a == Scaling::vector) instructions += kOfRows;
  if (e.scale_b == Scaling::vector) instructions += kOfColumns;
  if (e.bias == Bias::per_column) instructions += kOfColumns;
  if (e.bias == Bias::per_row) instructions += kOfRows;
  return instructions;
}

}  // namespace

EpilogueWork epilogue_work(const Epilogue& e) {
  if (e == Epilogue{}) return {};
  constexpr double kFunction = 20;    // unknown
  constexpr double kBits = 1.0 / 16;  // of a matrix of 16-bit elements
  constexpr double kAtomic = 2;       // of an addition to the gradient: lanes add up those of a column first
  const int read = e.matrices_read();
  EpilogueWork work{.instructions = linear_instructions(e) * (e.is_gated() ? 2 : 1),
                    .matrices_read = read,
                    .matrices = static_cast<double>(read) + (e.bits ? kBits : 0)};
  work.instructions += e.has_function() ? kFunction : activation_instructions(e.activation);
  work.instructions += (e.is_gated() ? 1 : 0) + (e.amax ? 4 : 0) + (e.scale_d ? 1 : 0) + 2 * read;
  if (e.bias_gradient != Bias::none) work.instructions += 4 * kAtomic;
  if (e.bits) work.instructions += 4;
  if (e.aux && !e.bits) {
    work.instructions += e.is_gated() ? 8 : 4;
    work.matrices += e.is_gated() ? 2 : 1;
  }
  return work;
}

bool copies_ahead(const WgmmaConfig& c, const GemmTraits& traits) {
  const bool has_strips = !WgmmaConfig::has_aligned_d(traits) && c.strip_pieces(traits) > 1;
  return c.copies_matrices(traits) && c.store_buffers(traits) > 1 && c.store_pieces(traits) > 1 && !has_strips;
}

}  // namespace hotgemm
