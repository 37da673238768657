// Payloads to numbers.
#include <vector>

#include "codecs/homcomp/payload_reader.hpp"
#include "homomorphic/homcomp/engine.hpp"
#include "homomorphic/tally.hpp"

namespace homz::homcomp {
namespace {

// A chunk's values one by one.
template <class T>
class ChunkValues {
 public:
  const char* open(const SumKernels& kernels, const Box& box, ConstBytes chunk, bool is_raw,
                   std::optional<std::uint64_t> fill_bits) {
    const char* const wrong =
        kernels.read<T>()(box, {chunk, is_raw, chunk.data() + chunk.size()}, fill_bits.has_value(),
                          static_cast<BitsOf<T>>(fill_bits.value_or(0)), content_);
    exact_at_ = content_.values;
    return wrong;
  }

  AnyValue next(unsigned i) {
    AnyValue value{content_.is_fill(i), content_.is_exact(i), static_cast<std::int32_t>(content_.quanta[i]),
                   0};
    if (!value.is_exact) return value;
    value.exact = static_cast<double>(load_value<T>(exact_at_));
    exact_at_ += sizeof(T);
    return value;
  }

 private:
  ChunkContent content_;
  const std::byte* exact_at_ = nullptr;
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
      for (unsigned i = 0; i < box.count(); ++i) tallies[index].add(values.next(i));
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
      for (unsigned i = 0; i < box.count(); ++i)
        products[index].add(values[0].next(i), values[1].next(i), steps);
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
