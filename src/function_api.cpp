#include "config/function_source.hpp"
#include "context_impl.hpp"

namespace hotgemm {

EpilogueFunction Context::add_function(std::string_view source, std::string_view name) {
  const FunctionSource function(source, name);
  impl_->engine().bundle.add(function);
  return function.function();
}

}  // namespace hotgemm
