#pragma once

#include "config/kernel_config.hpp"

#include <hotgemm/problem.hpp>

#include <string>

namespace hotgemm::command {

/// A config that the command line names, with the problem on which it is shown if none is given.
struct NamedConfig {
  KernelConfig config;
  Problem example;
};

/// The config with the name `text`, or that of the rung with this name or label. Throws Error{invalid_argument} if
/// there is none, or if rungs of that name have several configs.
NamedConfig named_config(const std::string& text);

}  // namespace hotgemm::command
