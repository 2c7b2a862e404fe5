#pragma once

#include <hotgemm/hotgemm.h>

#include <cstddef>
#include <cstdint>

// The functions that libhotgemm_torch.so exports. Only packaging/python/hotgemm/torch of the same release calls them.

#pragma GCC visibility push(default)
extern "C" {

/// The symbols to bind, a line each; "?" before those that may be missing. Of the second list each backend has its own.
const char* hotgemm_torch_functions();
const char* hotgemm_torch_backend_functions();
/// Takes the addresses in the order of the lists.
void hotgemm_torch_bind(void* const* addresses);
void hotgemm_torch_bind_backend(int is_cuda, void* const* addresses);

struct hotgemm_torch_settings {
  std::uint32_t flags;      ///< of the calls of overrides: HOTGEMM_IF_...
  std::int32_t order;       ///< HOTGEMM_ORDER_...
  std::int32_t serves_f32;  ///< 0: f32 products are passed on
};
/// Holds for calls that begin from now on.
void hotgemm_torch_configure(const hotgemm_torch_settings* settings);

/// Boxed kernels: of aten::mm, mm.out, bmm, bmm.out, and of our operators.
void hotgemm_torch_mm(std::uint64_t* stack, std::uint64_t inputs, std::uint64_t outputs);
void hotgemm_torch_mm_out(std::uint64_t* stack, std::uint64_t inputs, std::uint64_t outputs);
void hotgemm_torch_bmm(std::uint64_t* stack, std::uint64_t inputs, std::uint64_t outputs);
void hotgemm_torch_bmm_out(std::uint64_t* stack, std::uint64_t inputs, std::uint64_t outputs);
void hotgemm_torch_addmm(std::uint64_t* stack, std::uint64_t inputs, std::uint64_t outputs);
void hotgemm_torch_addmm_out(std::uint64_t* stack, std::uint64_t inputs, std::uint64_t outputs);
void hotgemm_torch_linear(std::uint64_t* stack, std::uint64_t inputs, std::uint64_t outputs);
void hotgemm_torch_linear_with_aux(std::uint64_t* stack, std::uint64_t inputs, std::uint64_t outputs);

/// The functions and objects that hotgemm_torch_matmul uses. Its caller holds the GIL: `read` and Python's functions
/// need it.
struct hotgemm_torch_direct {
  hotgemm_context* context;  ///< null: nothing is computed yet
  std::int32_t device_type;  ///< of the tensors, as DLPack numbers it
  std::int32_t reserved;
  int (*read)(void* object, void* tensor);                            ///< dltensor_from_py_object_no_sync
  std::int32_t (*current_device)(std::int32_t* index);                ///< with current_stream
  std::int32_t (*current_stream)(std::int32_t index, void** stream);  ///< null: the default stream
  bool (*grad_mode_is_enabled)();
  decltype(hotgemm_gemm)* gemm;
  // Python's functions and objects:
  void* (*save_thread)();
  void (*restore_thread)(void* thread);
  void* (*int_from_long)(long value);
  void (*clear_error)();
  void* (*get_attribute)(void* object, void* name);
  void* (*call_method)(void* name, void* const* arguments, std::size_t count, void* keywords);
  void (*drop_reference)(void* object);
  void* requires_grad;  ///< the names of an attribute and of a method
  void* is_neg;
  void* false_object;
};
/// Holds for calls that begin from now on; `with` must outlive them.
void hotgemm_torch_bind_direct(const hotgemm_torch_direct* with);
/// A function of Python (METH_FASTCALL) of three objects whose type `read` knows: out = a × b. Returns a
/// hotgemm_status, or -1 where Python has to look at them: nothing is enqueued then.
void* hotgemm_torch_matmul(void* self, void* const* arguments, std::ptrdiff_t count);

/// The names of the operators and of the outcomes that are counted, a line each.
const char* hotgemm_torch_operators();
const char* hotgemm_torch_outcomes();
/// Fills a table of as many rows as there are operators, and as many columns as there are outcomes. `reset` sets to
/// zero what it reads, and loses no call of another thread.
void hotgemm_torch_counts(std::uint64_t* counts, int reset);

/// A problem that calls had. The operands say its alignment; their addresses may be of memory that is gone.
struct hotgemm_torch_problem {
  const hotgemm_problem* problem;
  const hotgemm_operands* operands;
  const char* failure;  ///< the first message of a failure; empty if there was none
  std::int32_t device;
  std::int32_t reserved;
  std::uint64_t served, declined, failed;
};
/// Calls `visit` for each problem with a count. `reset` is as above.
void hotgemm_torch_visit(void (*visit)(void* user, const hotgemm_torch_problem* problem), void* user, int reset);
}
#pragma GCC visibility pop
