#include "gpu/repack_launch.hpp"

#include "config/sm_limit.hpp"
#include "gpu/enqueue.hpp"

#include <algorithm>

namespace hotgemm {

RepackMatrix repack_matrix(const OperandCopy& copy, const void* from, long long ld, unsigned long long to) noexcept {
  return {.from = reinterpret_cast<unsigned long long>(from),
          .to = to,
          .pitch = ld * copy.element_bytes,
          .row_bytes = copy.row_bytes(),
          .rows = static_cast<int>(copy.shape.rows),
          .row_chunks = static_cast<unsigned>(repacked_pitch(copy.row_bytes()) / kRepackChunkBytes),
          .transposed_bytes = copy.is_transposed ? copy.element_bytes : 0};
}

CUresult launch_repack(const Driver& driver, const RepackKernel& repack, RepackArgs args, bool programmatic,
                       CUstream stream, int sm_limit) noexcept {
  const bool is_limited = leaves_out_sms(sm_limit, repack.sm_count);
  const unsigned long long most = static_cast<unsigned>(is_limited ? sm_limit : repack.sm_count * kRepackBlocksPerSm);
  const unsigned long long parts = args.first.parts() + args.second.parts() + args.first.tiles() + args.second.tiles();
  args.prefetches = programmatic ? 1 : 0;
  void* parameters[] = {&args};
  return enqueue(driver, repack.kernel.function(),
                 {.blocks = static_cast<unsigned>(std::min(parts, most)),
                  .threads = kRepackThreads,
                  .smem_bytes = 0,
                  .programmatic = programmatic},
                 parameters, stream);
}

}  // namespace hotgemm
