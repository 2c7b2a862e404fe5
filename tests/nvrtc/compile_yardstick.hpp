#pragma once

namespace hotgemm {

/// The factor by which this machine compiles slower now than the machine for which the limits of compile times are
/// stated; at least 1. It compares the CPU time of a fixed program, because CI machines differ by a factor of two, and
/// because other work on the core's second thread can double it.
double compile_slowness();

}  // namespace hotgemm
