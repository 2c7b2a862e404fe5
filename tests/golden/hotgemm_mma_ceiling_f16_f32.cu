#include "mma_ceiling.cuh"
extern "C" __global__ void __launch_bounds__(hotgemm::kCeilingThreads)
hotgemm_mma_ceiling_f16_f32(const __grid_constant__ hotgemm::CeilingArgs args) {
  hotgemm::mma_ceiling<hotgemm::DType::f16, hotgemm::DType::f32>(args);
}
