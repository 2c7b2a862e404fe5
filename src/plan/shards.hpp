#pragma once

#include <hotgemm/problem.hpp>

#include <functional>
#include <span>
#include <string>
#include <vector>

// The parts of a list of problems that several processes take. Every process computes all of them by itself, so they
// depend on nothing but the list: not on records, which change while the processes work, nor on the GPU.

namespace hotgemm {

/// The shard, from 0 to `count` - 1, of each item: the most expensive item goes first, each to the shard with the least
/// cost so far. So no shard costs more than an even share and the most expensive item; and none more than 4/3 of what
/// is possible. Items of equal cost go in the order of their names, which differ, so that the order of the list does
/// not matter.
std::vector<int> shards_of(std::span<const double> costs, std::span<const std::string> names, int count);

/// The expected seconds for tuning `problem`: to compile its candidates and to time them.
double tuning_seconds(const Workload& problem);

/// The problems of shard `index`, in the order of the list. Problems of one class are in one shard.
std::vector<Workload> share_of(std::span<const Workload> problems, int index, int count,
                               const std::function<double(const Workload&)>& cost);

}  // namespace hotgemm
