#include "repack.cuh"
extern "C" __global__ void __launch_bounds__(hotgemm::kRepackThreads, hotgemm::kRepackResidentBlocks)
hotgemm_repack(const __grid_constant__ hotgemm::RepackArgs args) {
  hotgemm::repack(args);
}
