#include "config/arch_rates.hpp"

#include <algorithm>
#include <iterator>

namespace hotgemm {
namespace {

// CUDA cores: the table of arithmetic throughput in the CUDA C++ Programming Guide.
// dp4a is taken for as fast as a 32-bit integer multiply-add of that table: 64 per SM and clock from sm_75 on.
// Tensor cores: the data sheet of the nominal GPU in kArchTable, divided by its SMs and its clock. The GeForce GPUs
// (sm_86, sm_120) sum in f32 at half the rate; the professional GPUs of these architectures do not.
// mma.sync: all of that rate up to sm_89. On an H200 it reaches 645 TFLOP/s, measured with this project's kernels. The
// shares of sm_100, sm_103 and sm_110 are guesses.
// L2: gpu-benches (github.com/RRZE-HPC/gpu-benches): gpu-l2-cache on an A100 (5.4 TB/s) and an L40 (5.2 TB/s),
// gpu-l2-stream on an A40 (3.2 TB/s). sm_90: fitted to kernels of family mma on an H200; gpu-l2-cache has 41 there. The
// other rows have no measurement: sm_75, sm_87 and Blackwell's small GPUs are taken for a GPU of their kind above.
// clang-format off
constexpr ArchRates kRates[] = {
    // sm  CUDA f32  f16   s8  tensor f32   f16  mma.sync  L2
    {75,       128,  256,  512,       1024, 1024,    1,     20},
    {80,       128,  512,  512,       2048, 2048,    1,     35},
    {86,       256,  256,  512,        512, 1024,    1,     22},
    {87,       256,  512,  512,       2048, 2048,    1,     32},
    {89,       256,  256,  512,       1024, 1024,    1,     15},
    {90,       256,  512,  512,       4096, 4096, 2670.0 / 4096, 48},
    {100,      256,  512,  512,       8192, 8192,    0.25,  48},
    {103,      256,  512,  512,       8192, 8192,    0.25,  48},
    {110,      256,  512,  512,       8192, 8192,    0.125, 32},
    {120,      256,  256,  512,        512, 1024,    1,     15},
    {121,      256,  256,  512,       1024, 1024,    1,     22},
};
// clang-format on
static_assert(std::size(kRates) == std::size(kArchTable), "each architecture has its rates");

}  // namespace

const ArchRates& arch_rates(std::string_view arch) {
  return *std::ranges::find(kRates, arch_limits(arch).sm, &ArchRates::sm);
}

}  // namespace hotgemm
