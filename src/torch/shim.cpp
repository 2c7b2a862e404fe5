#include "torch/shim.hpp"

#include "torch/export.hpp"

#include <cstring>

namespace hotgemm::torch {
namespace {

#define HOTGEMM_SYMBOL(member, symbol, ...) symbol "\n"
constexpr char kFunctions[] = HOTGEMM_TORCH_FUNCTIONS(HOTGEMM_SYMBOL);
constexpr char kBackendFunctions[] = HOTGEMM_TORCH_BACKEND_FUNCTIONS(HOTGEMM_SYMBOL);
#undef HOTGEMM_SYMBOL

Functions functions;
Backend cuda;
Backend cpu;

/// Both structs are nothing but function pointers, in the order of their list.
template <class Table>
void bind(Table& table, void* const* addresses) {
  static_assert(sizeof(Table) % sizeof(void*) == 0);
  std::memcpy(static_cast<void*>(&table), addresses, sizeof(Table));
}

}  // namespace

const Functions& shim() { return functions; }

const Backend& backend_of(std::int32_t device_type) { return device_type == functions.type_cuda() ? cuda : cpu; }

}  // namespace hotgemm::torch

using namespace hotgemm::torch;

const char* hotgemm_torch_functions() { return kFunctions; }
const char* hotgemm_torch_backend_functions() { return kBackendFunctions; }
void hotgemm_torch_bind(void* const* addresses) { bind(functions, addresses); }
void hotgemm_torch_bind_backend(int is_cuda, void* const* addresses) { bind(is_cuda != 0 ? cuda : cpu, addresses); }
