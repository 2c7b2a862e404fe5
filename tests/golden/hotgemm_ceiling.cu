#include "ceiling.cuh"
extern "C" __global__ void __launch_bounds__(hotgemm::kCeilingThreads)
hotgemm_ceiling(const __grid_constant__ hotgemm::CeilingArgs args) {
  hotgemm::ceiling(args);
}
