#include "config/prepacked.hpp"
#include "context_impl.hpp"
#include "runtime/packing.hpp"
#include "runtime/validate.hpp"

namespace hotgemm {

PrepackedSize prepacked_size(const Problem& problem, Operand operand) {
  validate_operand(problem, operand);
  return prepacked_size(stored_shape(problem, operand));
}

void Context::pack(Stream stream, const Problem& problem, Operand operand, const void* from, std::int64_t ld,
                   void* to) {
  validate_packing(problem, operand, from, ld, to);
  PushedContext pushed(Impl::driver());
  enqueue_packing(impl_->current(stream, pushed), {problem, operand, from, ld, to},
                  impl_->options().policy != Policy::cached_only, stream);
}

}  // namespace hotgemm
