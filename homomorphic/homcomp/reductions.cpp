// Payloads to numbers.
#include <vector>

#include "codecs/homcomp/payload_reader.hpp"
#include "homomorphic/homcomp/engine.hpp"
#include "homomorphic/tally.hpp"

namespace homz::homcomp {
namespace {

// A chunk's values one by one, coded or raw.
template <class T>
class ChunkValues {
 public:
  const char* open(const SumKernels& kernels, const Box& box, ConstBytes chunk, bool is_raw,
                   std::optional<std::uint64_t> fill_bits) {
    fill_bits_ = fill_bits;
    is_raw_ = is_raw;
    content_.values = chunk;
    const char* const wrong =
        is_raw ? nullptr : kernels.read(box, chunk, sizeof(T), fill_bits.has_value(), content_);
    exact_at_ = content_.values.data();
    return wrong;
  }

  AnyValue next(unsigned i) {
    const std::uint32_t bit = 1u << i % kBlock;
    if (!is_raw_ && (content_.fill[i / kBlock] & bit) != 0) return {true, false, 0, 0};
    if (!is_raw_ && (content_.exact[i / kBlock] & bit) == 0)
      return {false, false, static_cast<std::int32_t>(content_.quanta[i]), 0};
    const T x = load_value<T>(exact_at_);
    exact_at_ += sizeof(T);
    if (is_raw_ && fill_bits_ && bits_of(x) == *fill_bits_) return {true, false, 0, 0};
    return {false, true, 0, static_cast<double>(x)};
  }

 private:
  ChunkContent content_;
  const std::byte* exact_at_ = nullptr;
  std::optional<std::uint64_t> fill_bits_;
  bool is_raw_ = false;
};

template <class T>
Result<Moments> moments_as(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                           ConstBytes payload, unsigned threads) {
  const Grid grid(encoding.field.without_unit_extents(), plan.dim);
  const PayloadReader reader(grid, sizeof(T), payload);
  HOMZ_TRY(reader.open());
  HOMZ_TRY(reader.verify_tables());
  HOMZ_ASSIGN(const double step, reader.step(encoding.field.dtype));
  std::vector<Tally> tallies(reader.groups());
  HOMZ_TRY(try_parallel_for(reader.groups(), threads, [&](std::uint64_t index) -> Status {
    Group group;
    HOMZ_TRY(reader.find(index, group));
    ChecksumState unused;
    HOMZ_TRY(reader.verify(index, group, unused));
    ChunkValues<T> values;
    return reader.for_each_chunk(group, [&](std::uint64_t chunk, ConstBytes bytes, bool is_raw) {
      const Box box = grid.box(chunk);
      const char* const wrong = values.open(kernels, box, bytes, is_raw, encoding.fill_bits);
      if (wrong != nullptr) return corrupt(wrong);
      for (unsigned i = 0; i < box.count(); ++i) {
        tallies[index].add(values.next(i));
      }
      return Status();
    });
  }));
  Tally all;
  for (const Tally& each : tallies) all.join(each);
  return moments_of(all, static_cast<T>(step));
}

template <class T>
Result<double> dot_as(const Encoding& encoding, const Plan& plan, const SumKernels& kernels, ConstBytes a,
                      ConstBytes b, unsigned threads) {
  const Grid grid(encoding.field.without_unit_extents(), plan.dim);
  const PayloadReader readers[] = {{grid, sizeof(T), a}, {grid, sizeof(T), b}};
  double steps[2];
  for (unsigned i = 0; i < 2; ++i) {
    HOMZ_TRY(readers[i].open());
    HOMZ_TRY(readers[i].verify_tables());
    HOMZ_ASSIGN(steps[i], readers[i].step(encoding.field.dtype));
  }
  std::vector<Products> products(readers[0].groups());
  HOMZ_TRY(try_parallel_for(products.size(), threads, [&](std::uint64_t index) -> Status {
    Group groups[2];
    for (unsigned i = 0; i < 2; ++i) {
      HOMZ_TRY(readers[i].find(index, groups[i]));
      ChecksumState unused;
      HOMZ_TRY(readers[i].verify(index, groups[i], unused));
    }
    ChunkValues<T> values[2];
    const std::byte* at = groups[1].data;
    return readers[0].for_each_chunk(groups[0], [&](std::uint64_t chunk, ConstBytes bytes, bool is_raw) {
      const auto number = static_cast<unsigned>(chunk - groups[0].first);
      const ConstBytes other(at, 4 * readers[1].words_of_chunk(groups[1], number));
      at += other.size();
      const Box box = grid.box(chunk);
      const char* wrong = values[0].open(kernels, box, bytes, is_raw, encoding.fill_bits);
      if (wrong == nullptr)
        wrong = values[1].open(kernels, box, other, groups[1].sizes[number] == 0, encoding.fill_bits);
      if (wrong != nullptr) return corrupt(wrong);
      for (unsigned i = 0; i < box.count(); ++i) {
        products[index].add(values[0].next(i), values[1].next(i), steps);
      }
      return Status();
    });
  }));
  Products all;
  for (const Products& each : products) all.join(each);
  return all.sum(steps);
}

}  // namespace

Result<Moments> moments(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                        ConstBytes payload, unsigned threads) {
  return with_dtype(encoding.field.dtype, [&](auto zero) {
    return moments_as<decltype(zero)>(encoding, plan, kernels, payload, threads);
  });
}

Result<double> dot(const Encoding& encoding, const Plan& plan, const SumKernels& kernels, ConstBytes a,
                   ConstBytes b, unsigned threads) {
  return with_dtype(encoding.field.dtype, [&](auto zero) {
    return dot_as<decltype(zero)>(encoding, plan, kernels, a, b, threads);
  });
}

}  // namespace homz::homcomp
