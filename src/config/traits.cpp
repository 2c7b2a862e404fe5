#include "config/traits.hpp"

namespace hotgemm {

GemmTraits traits_of(const Problem& problem) {
  const int bytes = size_bytes(problem.dtype);
  return {.element = problem.dtype,
          .accumulator = problem.accumulator,
          .op_a = problem.op_a,
          .op_b = problem.op_b,
          .reads_c = !problem.beta_is_zero,
          .vec_a = problem.align_a / bytes,
          .vec_b = problem.align_b / bytes,
          .vec_d = problem.align_d / bytes};
}

std::string to_string(const GemmTraits& t) {
  std::string text(to_string(t.element));
  text += '_';
  text += to_string(t.accumulator);
  text += '_';
  text += to_string(t.op_a);
  text += to_string(t.op_b);
  text += "_a" + std::to_string(t.vec_a) + "b" + std::to_string(t.vec_b) + "d" + std::to_string(t.vec_d);
  text += t.reads_c ? "_c1" : "_c0";
  return text;
}

}  // namespace hotgemm
