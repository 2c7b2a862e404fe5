// A program that uses hotgemm: guest_program CACHE_DIRECTORY PROBLEM CANDIDATES SCRATCH_BYTES
// Plans PROBLEM under Policy::tune, and prints the origin and the config of the plan.

#include "gpu/driver.hpp"

#include <hotgemm/hotgemm.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>

int main(int, char** argv) {
  using namespace hotgemm;
  try {
    const Driver& driver = Driver::get();
    CUcontext cuda = nullptr;
    driver.check(driver.cuDevicePrimaryCtxRetain(&cuda, 0), "retain");
    driver.check(driver.cuCtxSetCurrent(cuda), "make current");
    ContextOptions options;
    options.cache_directory = argv[1];
    options.tuning = {
        .max_candidates = std::atoi(argv[3]), .budget_s = 100, .scratch_bytes = std::atoll(argv[4]), .rounds = 2};
    Context context(options);
    const Plan plan = context.plan(parse_workload(argv[2]));
    std::printf("%s %s\n", std::string(to_string(plan.origin())).c_str(), plan.config().c_str());
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "guest_program: %s\n", error.what());
    return 1;
  }
}
