// A second decoder of homcomp payloads, written from codecs/homcomp/spec.md alone: one value at a time,
// without a thought for speed. It trusts its input.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <vector>

#include "core/field.hpp"
#include "core/memory.hpp"

namespace homz::test {

class HomcompReference {
 public:
  // `dim`: 1, 2 or 3.
  HomcompReference(const Field& field, unsigned dim, std::optional<std::uint64_t> fill_bits)
      : field_(field.without_unit_extents()), fill_bits_(fill_bits) {
    set_geometry(dim);
  }

  // The chunks that the payload has, for a look at single ones.
  struct Chunk {
    std::uint64_t start[4], extents[4];  // w, z, y, x
    std::vector<std::byte> bytes;
    bool is_raw;
  };

  // What each value of the field last decoded is.
  enum class Kind : char { quantum, exact, fill };
  struct Value {
    Kind kind = Kind::quantum;
    std::int32_t quantum = 0;
  };
  const std::vector<Value>& values() const { return values_; }
  double step() const { return step_; }

  std::vector<std::byte> decode(ConstBytes payload) {
    step_ = get<double>(payload, 0);
    data_.assign(field_.bytes(), std::byte{0});
    values_.assign(field_.count(), Value{});
    for (const Chunk& chunk : chunks(payload)) {
      if (chunk.is_raw)
        put_raw(chunk);
      else
        put_coded(chunk);
    }
    return data_;
  }

  std::vector<Chunk> chunks(ConstBytes payload) const {
    std::uint64_t count = 1, along[4];
    for (int axis = 0; axis < 4; ++axis)
      count *= along[axis] = (extents_[axis] + sides_[axis] - 1) / sides_[axis];
    const std::uint64_t groups = (count + 63) / 64, sizes_at = 16 + 16 * groups;
    std::uint64_t at = sizes_at + (2 * count + 7) / 8 * 8;
    std::vector<Chunk> chunks;
    for (std::uint64_t i = 0; i < count; ++i) {
      Chunk chunk{};
      std::uint64_t number = i, values = 1;
      for (int axis = 3; axis >= 0; --axis) {
        chunk.start[axis] = number % along[axis] * sides_[axis];
        chunk.extents[axis] = std::min(sides_[axis], extents_[axis] - chunk.start[axis]);
        values *= chunk.extents[axis];
        number /= along[axis];
      }
      const auto words = get<std::uint16_t>(payload, sizes_at + 2 * i);
      chunk.is_raw = words == 0;
      const std::uint64_t bytes = chunk.is_raw ? values * size_of(field_.dtype) : 4 * std::uint64_t{words};
      chunk.bytes.assign(payload.begin() + at, payload.begin() + at + bytes);
      chunks.push_back(std::move(chunk));
      at += bytes;
    }
    return chunks;
  }

 private:
  template <class T>
  static T get(ConstBytes bytes, std::uint64_t at) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof(T));
    return value;
  }

  void set_geometry(unsigned dim) {
    for (unsigned i = 0; i < field_.rank; ++i) {
      const unsigned from_last = field_.rank - 1 - i;
      extents_[dim == 1 ? 3 : from_last < dim ? 3 - from_last : 0] *= field_.extents[i];
    }
    if (dim == 1) sides_[3] = 4096;
    if (dim == 2) sides_[2] = sides_[3] = 64;
    if (dim == 3) sides_[1] = sides_[2] = sides_[3] = 16;
    for (int axis = 0; axis < 4; ++axis)
      while (sides_[axis] > 1 && extents_[axis] <= sides_[axis] / 2) {
        sides_[axis] /= 2;
        for (int other = 3; other >= 0; --other)
          if (extents_[other] > sides_[other]) {
            sides_[other] *= 2;
            break;
          }
      }
  }

  std::uint64_t index_of(const Chunk& chunk, std::uint64_t position) const {
    std::uint64_t index = 0, within[4];
    for (int axis = 3; axis >= 0; --axis) {
      within[axis] = position % chunk.extents[axis];
      position /= chunk.extents[axis];
    }
    for (int axis = 0; axis < 4; ++axis) index = index * extents_[axis] + chunk.start[axis] + within[axis];
    return index;
  }

  void put_raw(const Chunk& chunk) {
    const std::uint64_t size = size_of(field_.dtype);
    for (std::uint64_t i = 0; i < chunk.bytes.size() / size; ++i) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, &chunk.bytes[i * size], size);
      std::memcpy(&data_[index_of(chunk, i) * size], &bits, size);
      values_[index_of(chunk, i)].kind = fill_bits_ && bits == *fill_bits_ ? Kind::fill : Kind::exact;
    }
  }

  void put_coded(const Chunk& chunk) {
    const std::uint64_t count = chunk.extents[0] * chunk.extents[1] * chunk.extents[2] * chunk.extents[3];
    const std::uint64_t blocks = (count + 31) / 32, value_bytes = size_of(field_.dtype);
    const std::vector<std::byte>& in = chunk.bytes;
    const auto flags = get<std::uint8_t>(in, 0);
    const auto top = get<std::uint16_t>(in, 2);
    std::uint64_t at = 4;
    std::uint32_t base = 0;
    if ((flags & 16) != 0) base = get<std::uint32_t>(in, at), at += 4;
    std::vector<std::uint8_t> bitmaps(16), codes(blocks, (flags & 32) != 0 ? 63 : 0);
    for (int group = 0; group < 16; ++group)
      if ((top >> group & 1) != 0) bitmaps[group] = get<std::uint8_t>(in, at++);
    for (std::uint64_t block = 0; block < blocks; ++block)
      if ((bitmaps[block / 8] >> block % 8 & 1) != 0) codes[block] = get<std::uint8_t>(in, at++);
    std::uint64_t word_at = (at + 3) / 4 * 4;

    std::vector<std::uint32_t> quanta(32 * blocks);
    std::vector<std::uint64_t> fills, exacts, sparse;
    for (std::uint64_t block = 0; block < blocks; ++block) {
      const std::uint8_t code = codes[block], form = code & 63;
      const auto next_word = [&] { return get<std::uint32_t>(in, (word_at += 4) - 4); };
      const auto list = [&](std::vector<std::uint64_t>& to, std::uint32_t mask) {
        for (int i = 0; i < 32; ++i)
          if ((mask >> i & 1) != 0 && 32 * block + i < count) to.push_back(32 * block + i);
      };
      if (code == 63) {
        list(fills, ~0u);
        continue;
      }
      if ((code & 64) != 0) list(fills, next_word());
      if ((code & 128) != 0) list(exacts, next_word());
      if (form >= 1 && form <= 15) sparse.push_back(block);
      if (form < 18) continue;
      const std::uint32_t signs = next_word();
      std::uint32_t sizes[32] = {};
      for (int plane = 0; plane < form - 16; ++plane) {
        const std::uint32_t word = next_word();
        for (int i = 0; i < 32; ++i) sizes[i] |= (word >> i & 1) << plane;
      }
      for (int i = 0; i < 32; ++i) quanta[32 * block + i] = (signs >> i & 1) != 0 ? 0 - sizes[i] : sizes[i];
    }
    std::uint64_t byte_at = word_at, bit = 0;
    std::vector<std::uint32_t> planes;
    for (const std::uint64_t block : sparse) {
      planes.push_back(0);
      for (int byte = 0; byte < 4; ++byte)
        if ((codes[block] >> byte & 1) != 0)
          planes.back() |= static_cast<std::uint32_t>(get<std::uint8_t>(in, byte_at++)) << 8 * byte;
    }
    for (std::size_t s = 0; s < sparse.size(); ++s)
      for (int i = 0; i < 32; ++i) {
        if ((planes[s] >> i & 1) == 0) continue;
        const bool negative = (get<std::uint8_t>(in, byte_at + bit / 8) >> bit % 8 & 1) != 0;
        ++bit;
        quanta[32 * sparse[s] + i] = negative ? ~0u : 1;
      }
    const std::uint64_t values_at = (byte_at + (bit + 7) / 8 + 3) / 4 * 4;

    const std::uint64_t row = chunk.extents[3], plane = row * chunk.extents[2],
                        slab = plane * chunk.extents[1];
    for (int times = flags & 3; times > 0; --times)
      for (std::uint64_t i = 0; i < count; ++i)
        if (i % row != 0) quanta[i] += quanta[i - 1];
    if ((flags & 4) != 0)
      for (std::uint64_t i = 0; i < count; ++i)
        if (i % plane >= row) quanta[i] += quanta[i - row];
    if ((flags & 8) != 0)
      for (std::uint64_t i = 0; i < count; ++i)
        if (i % slab >= plane) quanta[i] += quanta[i - plane];
    for (std::uint64_t i = 0; i < count; ++i)
      put_value(chunk, i, static_cast<std::int32_t>(quanta[i] + base));
    for (const std::uint64_t i : fills) {
      std::memcpy(&data_[index_of(chunk, i) * value_bytes], &*fill_bits_, value_bytes);
      values_[index_of(chunk, i)].kind = Kind::fill;
    }
    for (const std::uint64_t i : exacts) values_[index_of(chunk, i)].kind = Kind::exact;
    for (std::uint64_t i = 0; i < exacts.size(); ++i)
      std::memcpy(&data_[index_of(chunk, exacts[i]) * value_bytes], &in[values_at + i * value_bytes],
                  value_bytes);
  }

  void put_value(const Chunk& chunk, std::uint64_t position, std::int32_t quantum) {
    with_dtype(field_.dtype, [&](auto zero) {
      using T = decltype(zero);
      const T value = static_cast<T>(quantum) * static_cast<T>(step_);
      std::memcpy(&data_[index_of(chunk, position) * sizeof(T)], &value, sizeof(T));
    });
    values_[index_of(chunk, position)].quantum = quantum;
  }

  Field field_;
  std::optional<std::uint64_t> fill_bits_;
  std::uint64_t extents_[4] = {1, 1, 1, 1}, sides_[4] = {1, 1, 1, 1};
  double step_ = 0;
  std::vector<std::byte> data_;
  std::vector<Value> values_;
};

}  // namespace homz::test
