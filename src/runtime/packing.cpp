#include "runtime/packing.hpp"

#include "config/prepacked.hpp"

#include <memory>
#include <string>

namespace hotgemm {

void enqueue_packing(DeviceState& device, const Packing& p, bool may_compile, Stream stream) {
  const StoredShape shape = stored_shape(p.problem, p.operand);
  if (shape.rows == 0 || shape.cols == 0) return;
  const std::shared_ptr<const RepackKernel> kernel = device.repack_kernel(may_compile);
  RepackArgs args;
  args.first = repack_matrix({.shape = shape, .element_bytes = kPrepackedElementBytes}, p.from, p.ld,
                             reinterpret_cast<unsigned long long>(p.to));
  const Driver& driver = device.driver();
  const CUresult result = launch_repack(driver, *kernel, args, false, stream, p.problem.sm_limit);
  if (result == CUDA_SUCCESS) return;
  driver.fail(result, std::string("pack ") + (p.operand == Operand::a ? "A" : "B") + " of " + to_string(p.problem));
}

}  // namespace hotgemm
