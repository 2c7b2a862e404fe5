#include "gpu/gemm_launch.hpp"

namespace hotgemm {
namespace {

unsigned long long address(const void* pointer) { return reinterpret_cast<unsigned long long>(pointer); }

}  // namespace

CUresult launch_gemm(const Driver& driver, const GemmKernel& kernel, const LaunchConfig& launch, std::int64_t m,
                     std::int64_t n, std::int64_t k, const Operands& o, CUstream stream) noexcept {
  GemmArgs args{.a = address(o.a),
                .b = address(o.b),
                .c = address(o.c),
                .d = address(o.d),
                .lda = o.lda,
                .ldb = o.ldb,
                .ldc = o.ldc,
                .ldd = o.ldd,
                .m = static_cast<int>(m),
                .n = static_cast<int>(n),
                .k = o.alpha == 0 ? 0 : static_cast<int>(k),  // BLAS: with alpha zero, A and B are not read
                .alpha = o.alpha,
                .beta = o.beta,
                .raster_width = launch.raster_width,
                .raster_along_n = launch.raster_along_n ? 1 : 0};
  void* parameters[] = {&args};
  const auto blocks = static_cast<unsigned>(tile_count(m, n, kernel.block_m, kernel.block_n));
  return driver.cuLaunchKernel(kernel.kernel.function(), blocks, 1, 1, static_cast<unsigned>(kernel.threads), 1, 1,
                               static_cast<unsigned>(kernel.kernel.smem_bytes()), stream, parameters, nullptr);
}

}  // namespace hotgemm
