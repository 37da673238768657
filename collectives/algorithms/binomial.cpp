// Binomial trees.
#include <algorithm>

#include "collectives/algorithms/algorithms.hpp"

namespace homz {
namespace {

using Kind = Transfer::Kind;

// The tree whose root is number 0: the parent of a number is the number without its lowest bit; its subtree
// are the numbers from it on, as many as that bit says.
struct Tree {
  explicit Tree(Place place) : place(place), number((place.rank - place.root + place.size) % place.size) {}

  int rank_of(int n) const { return (n + place.root) % place.size; }
  int lowest_bit() const {
    int bit = 1;
    while (bit < place.size && (number & bit) == 0) bit *= 2;
    return bit;  // of the root: the first power of two that is not below the size
  }
  int parent() const { return rank_of(number & (number - 1)); }
  // Numbers of the children, those with the largest subtrees last.
  std::vector<int> children() const {
    std::vector<int> all;
    for (int bit = 1; bit < lowest_bit() && number + bit < place.size; bit *= 2) all.push_back(number + bit);
    return all;
  }
  // The parts of the ranks of the subtree of a number.
  std::vector<PartId> parts_below(int n) const {
    const int bit = n == 0 ? place.size : n & -n;
    std::vector<PartId> parts;
    for (int i = n; i < std::min(n + bit, place.size); ++i) parts.push_back(static_cast<PartId>(rank_of(i)));
    return parts;
  }

  Place place;
  int number;
};

// Towards the root, small subtrees first.
template <class F>
Schedule up(Place place, Kind in, Kind out, F&& parts) {
  const Tree tree(place);
  Schedule schedule;
  for (const int child : tree.children()) schedule.push_back({in, tree.rank_of(child), parts(tree, child)});
  if (tree.number != 0) schedule.push_back({out, tree.parent(), parts(tree, tree.number)});
  return schedule;
}

// Away from it, large subtrees first.
template <class F>
Schedule down(Place place, F&& parts) {
  const Tree tree(place);
  Schedule schedule;
  if (tree.number != 0) schedule.push_back({Kind::take, tree.parent(), parts(tree, tree.number)});
  const std::vector<int> children = tree.children();
  for (auto child = children.rbegin(); child != children.rend(); ++child)
    schedule.push_back({Kind::deliver, tree.rank_of(*child), parts(tree, *child)});
  return schedule;
}

std::vector<PartId> whole(const Tree&, int) {
  return {0};
}
std::vector<PartId> below(const Tree& tree, int number) {
  return tree.parts_below(number);
}

}  // namespace

Schedule binomial_reduce(Place place) {
  return up(place, Kind::join, Kind::contribute, whole);
}
Schedule binomial_bcast(Place place) {
  return down(place, whole);
}
Schedule binomial_scatter(Place place) {
  return down(place, below);
}
Schedule binomial_gather(Place place) {
  return up(place, Kind::take, Kind::deliver, below);
}

}  // namespace homz
