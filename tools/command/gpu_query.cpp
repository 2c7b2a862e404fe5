#include "command/gpu_query.hpp"

#include "gpu/device.hpp"
#include "gpu/nvml.hpp"
#include "gpu/nvrtc.hpp"

#include <hotgemm/error.hpp>

#include <string>

namespace hotgemm::command {

GpuQuery query_of(const Engine& engine, int ordinal) {
  Environment environment;
  double power_limit_w = 0;
  try {
    const Driver& driver = Driver::get();
    environment.driver = driver_version(driver);
    CUdevice device = 0;
    driver.check(driver.cuDeviceGet(&device, ordinal), "open GPU " + std::to_string(ordinal));
    environment.gpu = identify_device(driver, device).name;
    power_limit_w = Nvml(driver, device).power_limit_w().value_or(0);
  } catch (const Error&) {
    // A field that could not be read stays empty, and is not compared.
  }
  try {
    environment.toolchain = Nvrtc::get().toolchain();
  } catch (const Error&) {
    environment.toolchain.clear();
  }
  GpuQuery query = engine.query(environment);
  query.power_limit_w = power_limit_w;
  return query;
}

}  // namespace hotgemm::command
