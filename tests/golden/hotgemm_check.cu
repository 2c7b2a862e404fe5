#include "check.cuh"
extern "C" __global__ void __launch_bounds__(hotgemm::kCheckThreads)
hotgemm_fill(const __grid_constant__ hotgemm::FillArgs args) {
  hotgemm::fill(args);
}
extern "C" __global__ void __launch_bounds__(hotgemm::kCheckThreads)
hotgemm_check(const __grid_constant__ hotgemm::CheckArgs args) {
  hotgemm::check(args);
}
extern "C" __global__ void __launch_bounds__(hotgemm::kCheckThreads)
hotgemm_digest(const __grid_constant__ hotgemm::DigestArgs args) {
  hotgemm::digest(args);
}
extern "C" __global__ void __launch_bounds__(hotgemm::kCheckThreads)
hotgemm_pointwise(const __grid_constant__ hotgemm::PointwiseArgs args) {
  hotgemm::pointwise(args);
}
