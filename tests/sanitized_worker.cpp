// The commands that a process starts by itself, `hotgemm worker` and `hotgemm compile-worker`, for the tests of
// sanitizers' builds: there the whole command takes minutes to compile, for options that these tests do not use.

#include "config/problem_enums.hpp"
#include "worker/compile_worker.hpp"
#include "worker/measure_worker.hpp"

#include <hotgemm/error.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <span>
#include <string>
#include <string_view>

namespace {

using namespace hotgemm;

MeasureWorkerOptions options_of(std::span<char*> words) {
  MeasureWorkerOptions options{.context = ContextOptions::from_environment()};
  options.context.problem_log = "none";
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (word == "--allow-mps") {
      options.allow_mps = true;
      continue;
    }
    if (++i == words.size()) throw Error(ErrorCode::invalid_argument, std::string(word) + " needs a value");
    if (word == "--device") {
      options.device = std::atoi(words[i]);
    } else if (word == "--cache-dir") {
      options.context.cache_directory = words[i];
    } else if (word == "--cache") {
      options.context.cache.mode = parse_enum<CacheMode>(words[i], "--cache");
    } else {
      throw Error(ErrorCode::invalid_argument, "unknown option " + std::string(word));
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const std::string_view command = argc > 1 ? argv[1] : "";
    if (command == "worker") run_measure_worker(options_of(std::span(argv, static_cast<std::size_t>(argc)).subspan(2)));
    if (command == "compile-worker") run_compile_worker();
    std::fprintf(stderr, "there is no command \"%s\" here\n", argc > 1 ? argv[1] : "");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return 1;
}
