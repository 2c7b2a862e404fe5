#include "standin/script.hpp"

namespace hotgemm::standin {
namespace {

bool only_describes(std::string_view function) {
  return function == "cuGetErrorName" || function == "cuGetErrorString";
}

}  // namespace

std::optional<Script::Failure> Script::count_call(std::string_view function) {
  ++calls_.try_emplace(std::string(function)).first->second;
  if (!only_describes(function)) ++all_calls_;
  std::optional<Failure> due;
  std::vector<Failure> waiting;
  for (Failure& failure : failures_) {
    const bool concerned = failure.function == function || (failure.function == "*" && !only_describes(function));
    if (concerned) --failure.calls_left;
    if (failure.calls_left > 0) {
      waiting.push_back(std::move(failure));
    } else if (!due) {
      due = std::move(failure);
    }
  }
  failures_ = std::move(waiting);
  return due;
}

std::size_t Script::calls(std::string_view function) const {
  if (function == "*") return all_calls_;
  const auto found = calls_.find(function);
  return found != calls_.end() ? found->second : 0;
}

std::size_t Script::launches(std::string_view symbol_part) const {
  std::size_t sum = 0;
  for (const auto& [symbol, count] : launches_) {
    if (symbol.find(symbol_part) != symbol.npos) sum += count;
  }
  return sum;
}

}  // namespace hotgemm::standin
