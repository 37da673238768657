// Payloads to numbers.
#include <vector>

#include "codecs/homcomp/payload_reader.hpp"
#include "homomorphic/homcomp/engine.hpp"

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

Status open_and_verify(const PayloadReader& reader) {
  HOMZ_TRY(reader.open());
  return reader.verify_tables();
}
Status find_and_verify(const PayloadReader& reader, std::uint64_t index, Group& group) {
  HOMZ_TRY(reader.find(index, group));
  ChecksumState unused;
  return reader.verify(index, group, unused);
}

// Joined in the order of the groups.
template <class Part>
Part all_of(const std::vector<Part>& parts) {
  Part all;
  for (const Part& each : parts) all.join(each);
  return all;
}

template <class T>
Result<Tally> tally_as(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                       ConstBytes payload, ChosenChunks chosen, unsigned threads) {
  const Grid grid(encoding.field.without_unit_extents(), plan.dim);
  const PayloadReader reader(grid, sizeof(T), payload);
  HOMZ_TRY(open_and_verify(reader));
  std::vector<Tally> tallies(reader.groups());
  HOMZ_TRY(try_parallel_for(reader.groups(), threads, [&](std::uint64_t index) -> Status {
    if (!chosen.has_some_of_group(index)) return Status();
    Group group;
    HOMZ_TRY(find_and_verify(reader, index, group));
    ChunkValues<T> values;
    return reader.for_each_chunk(group, [&](std::uint64_t chunk, ConstBytes bytes, bool is_raw) {
      if (!chosen.has(chunk)) return Status();
      const Box box = grid.box(chunk);
      const char* const wrong = values.open(kernels, box, bytes, is_raw, encoding.fill_bits);
      if (wrong != nullptr) return corrupt(wrong);
      for (unsigned i = 0; i < box.count(); ++i) tallies[index].add(values.next(i));
      return Status();
    });
  }));
  return all_of(tallies);
}

template <class T>
Result<Products> multiply_as(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                             const ConstBytes (&payloads)[2], const double (&steps)[2], ChosenChunks chosen,
                             unsigned threads) {
  const Grid grid(encoding.field.without_unit_extents(), plan.dim);
  const PayloadReader readers[] = {{grid, sizeof(T), payloads[0]}, {grid, sizeof(T), payloads[1]}};
  for (const PayloadReader& reader : readers) HOMZ_TRY(open_and_verify(reader));
  std::vector<Products> products(readers[0].groups());
  HOMZ_TRY(try_parallel_for(products.size(), threads, [&](std::uint64_t index) -> Status {
    if (!chosen.has_some_of_group(index)) return Status();
    Group groups[2];
    for (unsigned i = 0; i < 2; ++i) HOMZ_TRY(find_and_verify(readers[i], index, groups[i]));
    ChunkValues<T> values[2];
    const std::byte* at = groups[1].data;
    return readers[0].for_each_chunk(groups[0], [&](std::uint64_t chunk, ConstBytes bytes, bool is_raw) {
      const auto number = static_cast<unsigned>(chunk - groups[0].first);
      const ConstBytes other(at, 4 * readers[1].words_of_chunk(groups[1], number));
      at += other.size();
      if (!chosen.has(chunk)) return Status();
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
  return all_of(products);
}

}  // namespace

Result<Tally> tally(const Encoding& encoding, const Plan& plan, const SumKernels& kernels, ConstBytes payload,
                    ChosenChunks chosen, unsigned threads) {
  return with_dtype(encoding.field.dtype, [&](auto zero) {
    return tally_as<decltype(zero)>(encoding, plan, kernels, payload, chosen, threads);
  });
}

Result<Products> multiply(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                          const ConstBytes (&payloads)[2], const double (&steps)[2], ChosenChunks chosen,
                          unsigned threads) {
  return with_dtype(encoding.field.dtype, [&](auto zero) {
    return multiply_as<decltype(zero)>(encoding, plan, kernels, payloads, steps, chosen, threads);
  });
}

Moments moments_of(const Tally& tally, Dtype dtype, double step) {
  return with_dtype(dtype,
                    [&](auto zero) { return homz::moments_of(tally, static_cast<decltype(zero)>(step)); });
}

Result<Moments> moments(const Encoding& encoding, const Plan& plan, const SumKernels& kernels,
                        ConstBytes payload, unsigned threads) {
  HOMZ_ASSIGN(const Tally all, tally(encoding, plan, kernels, payload, ChosenChunks(), threads));
  HOMZ_ASSIGN(const double step, step_of(encoding, plan, payload));
  return moments_of(all, encoding.field.dtype, step);
}

Result<double> dot(const Encoding& encoding, const Plan& plan, const SumKernels& kernels, ConstBytes a,
                   ConstBytes b, unsigned threads) {
  const ConstBytes payloads[] = {a, b};
  double steps[2];
  HOMZ_ASSIGN(steps[0], step_of(encoding, plan, a));
  HOMZ_ASSIGN(steps[1], step_of(encoding, plan, b));
  HOMZ_ASSIGN(const Products all,
              multiply(encoding, plan, kernels, payloads, steps, ChosenChunks(), threads));
  return all.sum(steps);
}

}  // namespace homz::homcomp
