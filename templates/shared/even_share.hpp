#pragma once

namespace hotgemm {

/// A range of items: `count` items from `first` on.
struct ItemRange {
  int first;
  int count;
};

/// Share number `share` when `items` items are divided into `shares` consecutive ranges that differ by at most one
/// item. The longer ranges come first. Ranges are empty if there are fewer items than shares.
constexpr ItemRange even_share(int items, int share, int shares) {
  const int least = items / shares, longer = items % shares;
  return {share * least + (share < longer ? share : longer), least + (share < longer ? 1 : 0)};
}

}  // namespace hotgemm
