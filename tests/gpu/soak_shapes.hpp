#pragma once

#include <hotgemm/context.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

namespace hotgemm {

/// The options of soak_program.
struct SoakOptions {
  std::int64_t calls = 100'000;
  std::int64_t threads = 8;
  bool all_gpus = false;
  Policy policy = Policy::estimate;
  double share = BackgroundOptions{}.gpu_share;  // of policy background
  double seconds = std::numeric_limits<double>::infinity();
  std::int64_t shapes = 2000;
  std::int64_t max_size = 511;
  std::int64_t seed = 1;
  bool fills_memory = false;
  double max_wait_ms = 500;
  double max_growth_mib = 64;
};

inline Policy policy_named(const std::string& text) {
  for (const Policy policy : {Policy::cached_only, Policy::estimate, Policy::tune, Policy::background}) {
    if (text == to_string(policy)) return policy;
  }
  throw std::runtime_error("no policy: " + text);
}

inline SoakOptions parse_soak(const std::vector<std::string>& words) {
  SoakOptions o;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& name = words[i];
    if (name == "--fill-memory") {
      o.fills_memory = true;
      continue;
    }
    if (++i == words.size()) throw std::runtime_error("a value is missing behind " + name);
    const std::string& value = words[i];
    const auto count = [&] { return std::max<std::int64_t>(std::stoll(value), 1); };
    if (name == "--calls")
      o.calls = count();
    else if (name == "--threads")
      o.threads = count();
    else if (name == "--gpus")
      o.all_gpus = value == "all";
    else if (name == "--policy")
      o.policy = policy_named(value);
    else if (name == "--share")
      o.share = std::stod(value);
    else if (name == "--seconds")
      o.seconds = std::stod(value);
    else if (name == "--shapes")
      o.shapes = count();
    else if (name == "--max-size")
      o.max_size = count();
    else if (name == "--seed")
      o.seed = count();
    else if (name == "--max-wait-ms")
      o.max_wait_ms = std::stod(value);
    else if (name == "--max-growth-mib")
      o.max_growth_mib = std::stod(value);
    else
      throw std::runtime_error("no option: " + name);
  }
  return o;
}

/// A matrix in a buffer: its place and rows, in elements.
struct SoakPlace {
  std::int64_t rows = 0, cols = 0, ld = 0, offset = 0;

  std::size_t elements() const { return static_cast<std::size_t>(offset + rows * ld); }
};

/// A call: a problem with the places of its operands. The data follow from the seed.
struct SoakShape {
  Problem problem;
  SoakPlace a, b, c, d;
  int alpha = 1, beta = 0;
  unsigned seed = 0;
};

/// The shapes for these options, the same each time. Sizes are drawn so that each power of two has as many.
inline std::vector<SoakShape> make_shapes(const SoakOptions& o) {
  std::mt19937_64 random(static_cast<std::uint64_t>(o.seed));
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(n));
  };
  const auto size = [&] {
    const double bits = std::log2(static_cast<double>(o.max_size)) * static_cast<double>(below(1001)) / 1000;
    return std::clamp<std::int64_t>(std::llround(std::exp2(bits)), 1, o.max_size);
  };
  // Most shapes have one alignment for all operands, so that the kernels are hundreds and not thousands.
  const auto place = [&](std::int64_t rows, std::int64_t cols, std::int64_t align) {
    const std::int64_t tight = (cols + align - 1) / align * align;
    return SoakPlace{rows, cols, tight + align * below(3), align * below(16)};
  };
  std::vector<SoakShape> shapes;
  for (std::int64_t i = 0; i < o.shapes; ++i) {
    SoakShape s;
    Problem& p = s.problem;
    p = {.m = size(), .n = size(), .k = size(), .types = below(2) == 0 ? kF16 : kBf16};
    p.op_a = below(2) == 0 ? Op::n : Op::t;
    p.op_b = below(2) == 0 ? Op::n : Op::t;
    const std::int64_t common = std::int64_t{1} << below(4);
    const bool is_mixed = below(8) == 0;
    const auto align = [&] { return is_mixed ? std::int64_t{1} << below(4) : common; };
    s.a = p.op_a == Op::n ? place(p.m, p.k, align()) : place(p.k, p.m, align());
    s.b = p.op_b == Op::n ? place(p.k, p.n, align()) : place(p.n, p.k, align());
    s.c = place(p.m, p.n, align());
    s.d = place(p.m, p.n, align());
    s.alpha = below(4) == 0 ? 2 : 1;
    s.beta = below(4) == 0 ? 1 : 0;
    s.seed = static_cast<unsigned>(1 + i);
    shapes.push_back(s);
  }
  return shapes;
}

}  // namespace hotgemm
