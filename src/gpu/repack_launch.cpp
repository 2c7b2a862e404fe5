#include "gpu/repack_launch.hpp"

#include "config/sm_limit.hpp"
#include "gpu/enqueue.hpp"

#include <algorithm>
#include <limits>

namespace hotgemm {
namespace {

constexpr long long kMostRows = std::numeric_limits<int>::max();  // of a RepackMatrix

}  // namespace

RepackMatrix repack_matrix(const OperandCopy& copy, const void* from, long long ld, unsigned long long to,
                           long long stride) noexcept {
  // Matrices that follow one another as their rows do are one tall matrix, with two ends instead of two for each.
  const long long all_rows = copy.shape.rows * copy.products;
  const bool is_one =
      !copy.is_transposed && copy.products > 1 && all_rows <= kMostRows && stride == copy.shape.rows * ld;
  return {.from = reinterpret_cast<unsigned long long>(from),
          .to = to,
          .pitch = ld * copy.element_bytes,
          .row_bytes = copy.row_bytes(),
          .rows = static_cast<int>(is_one ? all_rows : copy.shape.rows),
          .row_chunks = static_cast<unsigned>(repacked_pitch(copy.row_bytes()) / kRepackChunkBytes),
          .transposed_bytes = copy.is_transposed ? copy.element_bytes : 0,
          .products = is_one ? 1 : static_cast<unsigned>(copy.products),
          .stride = is_one || copy.products == 1 ? 0 : stride * copy.element_bytes};
}

CUresult launch_repack(const Driver& driver, const RepackKernel& repack, RepackArgs args, bool programmatic,
                       CUstream stream, int sm_limit) noexcept {
  const bool is_limited = leaves_out_sms(sm_limit, repack.sm_count);
  const unsigned long long most = static_cast<unsigned>(is_limited ? sm_limit : repack.sm_count * kRepackBlocksPerSm);
  const unsigned long long parts =
      args.first.all_parts() + args.second.all_parts() + args.first.all_tiles() + args.second.all_tiles();
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
