#include "c/call.hpp"
#include "c/handles.hpp"
#include "c/problem.hpp"

#include <hotgemm/prepacked.hpp>

using namespace hotgemm;
using c::context_of;
using c::done;
using c::required;

hotgemm_status hotgemm_gemm(hotgemm_context* context, const hotgemm_problem* problem, const hotgemm_operands* operands,
                            hotgemm_stream stream, const hotgemm_call* call) {
  return c::guarded(call, [&]() -> hotgemm_status {
    Context& its_context = context_of(context);
    const Problem its_problem = c::problem_of(problem);
    const Operands& its_operands = c::operands_of(operands);
    const c::Call its_call(call);
    const std::uint32_t flags = its_call.flags();
    if (flags == 0) {
      its_context.gemm(stream, its_problem, its_operands);
      return HOTGEMM_SUCCESS;
    }
    const Demands demands{.tuned = (flags & HOTGEMM_IF_TUNED) != 0,
                          .as_fast = (flags & HOTGEMM_IF_AS_FAST) != 0,
                          .prepare_later = (flags & HOTGEMM_PREPARE_LATER) != 0};
    if (its_context.try_gemm(stream, its_problem, its_operands, demands)) return HOTGEMM_SUCCESS;
    return c::fail(call, HOTGEMM_NOT_PREPARED, "declined: the class of the problem has no plan that meets call.flags");
  });
}

hotgemm_status hotgemm_hgemm(hotgemm_stream stream, int32_t op_a, int32_t op_b, int64_t m, int64_t n, int64_t k,
                             float alpha, const void* a, int64_t lda, const void* b, int64_t ldb, float beta, void* c,
                             int64_t ldc, hotgemm_type type) {
  return done(nullptr, [&] {
    hotgemm_problem problem = HOTGEMM_PROBLEM_INIT;
    problem.m = m;
    problem.n = n;
    problem.k = k;
    problem.op_a = op_a;
    problem.op_b = op_b;
    problem.type_a = problem.type_b = problem.type_c = problem.type_d = type;
    const Operands operands{
        .a = a, .b = b, .c = c, .d = c, .lda = lda, .ldb = ldb, .ldc = ldc, .ldd = ldc, .alpha = alpha, .beta = beta};
    Context::default_context().gemm(stream, c::problem_of(&problem), operands);
  });
}

hotgemm_status hotgemm_prepacked_size(const hotgemm_problem* problem, int32_t operand, size_t* bytes, int64_t* ld) {
  return done(nullptr, [&] {
    const PrepackedSize size = prepacked_size(c::problem_of(problem), c::operand_of(operand));
    required(bytes, "bytes") = size.bytes;
    required(ld, "ld") = size.ld;
  });
}

hotgemm_status hotgemm_pack(hotgemm_context* context, const hotgemm_problem* problem, int32_t operand, const void* from,
                            int64_t ld, void* to, hotgemm_stream stream, const hotgemm_call* call) {
  return done(call, [&] {
    Context& its_context = context_of(context);
    const Problem its_problem = c::problem_of(problem);
    const c::Call its_call(call);
    its_context.pack(stream, its_problem, c::operand_of(operand), from, ld, to);
  });
}
