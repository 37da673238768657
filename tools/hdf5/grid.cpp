#include "tools/hdf5/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "core/bits.hpp"

namespace homz::hdf5 {

ChunkGrid::ChunkGrid(std::vector<hsize_t> extents, std::vector<hsize_t> chunk)
    : extents_(std::move(extents)), chunk_(std::move(chunk)), count_(1), chunk_values_(1) {
  for (std::size_t i = 0; i < chunk_.size(); ++i) {
    counts_.push_back(ceil_div(extents_[i], chunk_[i]));
    count_ *= counts_[i];
    chunk_values_ *= chunk_[i];
  }
}

Box ChunkGrid::box(std::uint64_t index) const {
  Box box{chunk_, chunk_};
  for (std::size_t i = chunk_.size(); i-- > 0; index /= counts_[i]) {
    box.start[i] = index % counts_[i] * chunk_[i];
    box.lengths[i] = std::min(chunk_[i], extents_[i] - box.start[i]);
  }
  return box;
}

std::uint64_t ChunkGrid::index(const hsize_t* start) const {
  std::uint64_t index = 0;
  for (std::size_t i = 0; i < chunk_.size(); ++i) index = index * counts_[i] + start[i] / chunk_[i];
  return index;
}

std::string ChunkGrid::place(const Box& box) {
  return fmt::format("chunk at ({})", fmt::join(box.start, ", "));
}

template <class F>
void ChunkGrid::each_row(const Box& box, F f) const {
  const std::size_t fast = chunk_.size() - 1;
  const std::uint64_t rows = chunk_values_ / chunk_[fast];
  for (std::uint64_t row = 0; row < rows; ++row) {
    std::uint64_t rest = row, target = box.start[fast], stride = extents_[fast];
    bool inside = true;
    for (std::size_t i = fast; i-- > 0; rest /= chunk_[i], stride *= extents_[i]) {
      const hsize_t place = rest % chunk_[i];
      inside = inside && place < box.lengths[i];
      target += (box.start[i] + place) * stride;
    }
    f(row * chunk_[fast], target, inside ? box.lengths[fast] : 0);
  }
}

void ChunkGrid::pad(const Box& box, Bytes chunk, ConstBytes value) const {
  if (!partial(box)) return;
  const std::size_t size = value.size();
  each_row(box, [&](std::uint64_t first, std::uint64_t, std::uint64_t inside) {
    fill_with(chunk.subspan((first + inside) * size, (chunk_.back() - inside) * size), value);
  });
}

void ChunkGrid::scatter(const Box& box, ConstBytes chunk, Bytes dataset, std::uint64_t value_bytes) const {
  each_row(box, [&](std::uint64_t first, std::uint64_t target, std::uint64_t inside) {
    if (inside != 0)
      std::memcpy(dataset.data() + target * value_bytes, chunk.data() + first * value_bytes,
                  inside * value_bytes);
  });
}

void fill_with(Bytes data, ConstBytes value) {
  for (std::size_t at = 0; at < data.size(); at += value.size())
    std::memcpy(data.data() + at, value.data(), value.size());
}

std::vector<hsize_t> default_chunk(const std::vector<hsize_t>& extents) {
  constexpr hsize_t kValues = 1 << 20;
  std::vector<hsize_t> chunk(extents.size(), 1);
  hsize_t room = kValues;
  for (std::size_t i = extents.size(); i-- > 0 && room > 0; room /= extents[i])
    chunk[i] =
        ceil_div(extents[i], ceil_div(extents[i], room));  // equal parts: little padding in the last one
  return chunk;
}

}  // namespace homz::hdf5
