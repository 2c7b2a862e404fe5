#include "worker/mps_guard.hpp"

#include "gpu/nvml.hpp"

#include <optional>
#include <string>

namespace hotgemm {

void refuse_other_mps_clients(const Driver& driver, int ordinal) {
  CUdevice device = 0;
  driver.check(driver.cuDeviceGet(&device, ordinal), "open GPU " + std::to_string(ordinal));
  int is_shared = 0;
  // A driver that does not know this attribute has no such sharing.
  if (driver.cuDeviceGetAttribute(&is_shared, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, device) != CUDA_SUCCESS) return;
  if (is_shared == 0) return;
  const std::optional<unsigned> others = Nvml(driver, device).mps_clients();
  if (others == 0u) return;
  const std::string who =
      others ? std::to_string(*others) + " other processes use it" : "NVML cannot say whether other processes use it";
  throw Error(ErrorCode::not_supported,
              "GPU " + std::to_string(ordinal) + " is shared through MPS, and " + who +
                  ": a kernel that faults would end their work too, and their work would disturb "
                  "the timing; --allow-mps measures anyway");
}

}  // namespace hotgemm
