// Payloads to numbers. Sums of quanta are integers of 128 bits: exact, so they depend on no order. Values
// that are stored exactly add up in double precision, in the order of the groups of chunks.
#include <cmath>
#include <memory>
#include <vector>

#include "codecs/homcomp/payload_reader.hpp"
#include "homomorphic/homcomp/engine.hpp"

namespace homz::homcomp {
namespace {

__extension__ typedef __int128 Int128;

// Count, mean and sum of squared deviations of values, joined as by Chan, Golub and LeVeque (1983).
struct Spread {
  double count = 0, mean = 0, squares = 0;

  void add(double x) { join({1, x, 0}); }
  void join(const Spread& other) {
    if (other.count == 0) return;
    if (count == 0) {
      *this = other;
      return;
    }
    const double all = count + other.count, distance = other.mean - mean;
    squares += other.squares + distance * distance * (count / all * other.count);
    mean += distance * (other.count / all);
    count = all;
  }
};

// What is known of some of the values.
struct Tally {
  std::uint64_t quanta = 0, exact = 0, fill = 0;
  Int128 sum = 0, squares = 0;  // of quanta
  std::int32_t least = kQuantumLimit, most = -kQuantumLimit;
  Spread spread;  // of exact values
  double exact_sum = 0, exact_norm = 0;
  double exact_least = 0, exact_most = 0;

  void add_quantum(std::int32_t quantum) {
    ++quanta;
    sum += quantum;
    squares += std::int64_t{quantum} * quantum;
    least = std::min(least, quantum);
    most = std::max(most, quantum);
  }
  void add_exact(double x) {
    Tally one;
    one.exact = 1;
    one.exact_sum = one.exact_least = one.exact_most = x;
    one.exact_norm = std::abs(x);
    one.spread.add(x);
    join(one);
  }
  void join(const Tally& other) {
    if (other.exact != 0) {
      exact_least = exact == 0 ? other.exact_least : lesser(exact_least, other.exact_least);
      exact_most = exact == 0 ? other.exact_most : -lesser(-exact_most, -other.exact_most);
    }
    quanta += other.quanta;
    exact += other.exact;
    fill += other.fill;
    sum += other.sum;
    squares += other.squares;
    least = std::min(least, other.least);
    most = std::max(most, other.most);
    spread.join(other.spread);
    exact_sum += other.exact_sum;
    if (other.exact != 0) exact_norm = std::hypot(exact_norm, other.exact_norm);
  }

  static double lesser(double a, double b) { return a != a ? a : b != b ? b : b < a ? b : a; }
};

// The quanta's spread, in steps, without cancellation: deviations from an integer close to the mean are
// exact.
Spread spread_of_quanta(const Tally& tally) {
  const auto count = static_cast<double>(tally.quanta);
  if (tally.quanta == 0) return Spread{};
  const Int128 n = tally.quanta, near = tally.sum / n;
  const Int128 squares = tally.squares - 2 * near * tally.sum + n * near * near;
  const auto rest = static_cast<double>(tally.sum - near * n);  // of the mean
  const double deviations = static_cast<double>(squares) - rest * (rest / count);
  return Spread{count, static_cast<double>(tally.sum) / count, deviations};
}

template <class T>
Moments moments_of(const Tally& tally, T step_as_value) {
  const auto step = static_cast<double>(step_as_value);
  Moments moments;
  moments.count = tally.quanta + tally.exact;
  moments.fill = tally.fill;
  if (moments.count == 0) return moments;
  const Spread in_steps = spread_of_quanta(tally);
  Spread spread{in_steps.count, in_steps.mean * step, in_steps.squares * step * step};
  spread.join(tally.spread);
  moments.sum = static_cast<double>(tally.sum) * step + tally.exact_sum;
  moments.mean = tally.exact == 0 ? spread.mean : moments.sum / static_cast<double>(moments.count);
  moments.variance = spread.squares / spread.count;
  moments.deviation =
      tally.exact == 0 ? std::sqrt(in_steps.squares / in_steps.count) * step : std::sqrt(moments.variance);
  moments.norm = std::hypot(std::sqrt(static_cast<double>(tally.squares)) * step, tally.exact_norm);
  moments.min = static_cast<double>(restore(tally.least, step_as_value));
  moments.max = static_cast<double>(restore(tally.most, step_as_value));
  if (tally.quanta == 0) moments.min = tally.exact_least, moments.max = tally.exact_most;
  if (tally.exact != 0) {
    moments.min = Tally::lesser(moments.min, tally.exact_least);
    moments.max = -Tally::lesser(-moments.max, -tally.exact_most);
  }
  return moments;
}

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

  struct Value {
    bool is_fill, is_exact;
    std::int32_t quantum;
    double exact;
  };
  Value next(unsigned i) {
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
        const auto value = values.next(i);
        if (value.is_fill)
          ++tallies[index].fill;
        else if (value.is_exact)
          tallies[index].add_exact(value.exact);
        else
          tallies[index].add_quantum(value.quantum);
      }
      return Status();
    });
  }));
  Tally all;
  for (const Tally& each : tallies) all.join(each);
  return moments_of(all, static_cast<T>(step));
}

// Products of quanta, and of values of which one has no quantum.
struct Products {
  Int128 quanta = 0;
  double exact = 0;
};

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
        const auto x = values[0].next(i), y = values[1].next(i);
        if (x.is_fill || y.is_fill) continue;
        if (!x.is_exact && !y.is_exact)
          products[index].quanta += std::int64_t{x.quantum} * y.quantum;
        else
          products[index].exact +=
              (x.is_exact ? x.exact : x.quantum * steps[0]) * (y.is_exact ? y.exact : y.quantum * steps[1]);
      }
      return Status();
    });
  }));
  Products all;
  for (const Products& each : products) {
    all.quanta += each.quanta;
    all.exact += each.exact;
  }
  return static_cast<double>(all.quanta) * steps[0] * steps[1] + all.exact;
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
