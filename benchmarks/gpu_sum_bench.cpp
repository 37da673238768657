// Measures arithmetic on streams of homcomp on a GPU: sums, in GB/s of the values of one operand, and how
// much faster they are than decoding both, adding and encoding; a stream plus values, without and with what
// it decodes to; moments, dot products and extrema. "Of floor": what fraction of the copy bandwidth the bytes
// that must move make up (streams and values, read and written; medians; the copy is measured in the same
// run). Numbers are calls from beginning to end, the memory that they take included.
// usage: gpu_sum_bench [MiB [repeats [data [bound]]]]
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "benchmarks/measuring.hpp"
#include "codecs/builtin.hpp"
#include "codecs/homcomp/step.hpp"
#include "core/buffer.hpp"
#include "core/gpu/gpu.hpp"
#include "data/synthetic.hpp"
#include "homomorphic/arithmetic.hpp"

namespace homz {
namespace {

constexpr unsigned kMost = 8;              // operands
constexpr std::uint64_t kApart = 1 << 20;  // bytes from the data of one to that of the next
const std::vector<std::int32_t> kOnes(kMost, 1);

// A stream in device memory.
struct Stored {
  gpu::Memory memory;
  std::uint64_t bytes = 0;
  ConstBytes stream() const { return memory.bytes().first(bytes); }
};

class Bench {
 public:
  Bench(std::uint64_t bytes, unsigned repeats)
      : bytes_(bytes),
        repeats_(repeats),
        values_(must(Buffer::make(bytes + kMost * kApart))),
        data_(must(gpu::Memory::on_device(values_.size()))),
        decoded_(must(gpu::Memory::on_device(bytes))) {
    copy_ms_ =
        milliseconds([&] { return gpu::copy(data_.bytes().first(bytes_), decoded_.bytes(), queue()); });
    fmt::print("{}, {} MiB of f32, copy {:.0f} GB/s read and written\n", must(gpu::name()), bytes >> 20,
               2e-6 * static_cast<double>(bytes) / copy_ms_);
    fmt::print("{:7} {:9} {:>6} {:>6} | {:>8} {:>8} {:>8} {:>7} | {:>8} {:>8} {:>7}", "data", "bound",
               "ratio", "sum's", "a+b ms", "GB/s", "of floor", "faster", "8-way ms", "of floor", "7 pairs");
    for (const char* what : {"fused ms", "decoded", "moments", "dot ms", "min ms"})
      fmt::print(" | {:>8} {:>8}", what, "of floor");
    fmt::print("\n");
  }

  void put(Synthetic kind) {
    generate(kind, Dtype::f32, values_.size() / 4, values_.bytes(), 0);
    must(gpu::copy(values_.bytes(), data_.bytes(), queue()));
    must(gpu::wait(queue()));
  }

  void measure(Synthetic kind, const ErrorBound& bound) {
    Compression compression;
    compression.field = Field::flat(Dtype::f32, bytes_ / 4);
    compression.requested = bound;
    compression.abs_error = must(resolve_over(compression.field, part(0), bound, std::nullopt, exec()));
    compression.choice = must(registry().choose(with_step(compression.abs_error)));
    std::vector<Stored> operands;
    for (unsigned i = 0; i < kMost; ++i) operands.push_back(encode(compression, i));
    fmt::print("{:7} {:9}", to_string(kind), to_string(bound));
    measure_sums(operands);
    measure_fused(operands[0], compression.abs_error);
    measure_numbers(operands[0], operands[1]);
    fmt::print("\n");
    std::fflush(stdout);
  }

 private:
  CUstream_st* queue() const { return stream_.get(); }
  std::uint64_t* size() { return reinterpret_cast<std::uint64_t*>(small_.bytes().data()); }
  std::uint32_t* fault() { return reinterpret_cast<std::uint32_t*>(small_.bytes().data() + 128); }
  Exec exec() { return device(queue(), fault()); }
  ConstBytes part(unsigned i) const { return ConstBytes(data_.bytes()).subspan(i * kApart, bytes_); }

  // That which the encoder would take for all operands together.
  std::string with_step(double abs_error) const {
    const float step = homcomp::choose_step<float>(abs_error, true, values_.bytes(), std::nullopt);
    return fmt::format("homcomp:step={}", double{step});
  }

  // Percent.
  double of_floor(std::uint64_t moved, double ms) const {
    return 100 * (static_cast<double>(moved) / (2 * static_cast<double>(bytes_)) * copy_ms_) / ms;
  }
  void print(double ms, std::uint64_t moved) const {
    fmt::print(" | {:8.3f} {:6.0f} %", ms, of_floor(moved, ms));
  }

  void measure_sums(const std::vector<Stored>& operands) {
    const double encode_ms = encode_ms_;
    const double decode_ms = decode(operands[0]) + decode(operands[1]), add_ms = 1.5 * copy_ms_;
    double pair_ms = 0, all_ms = 0, pairs_ms = 0;
    const Stored pair = sum({&operands[0], &operands[1]}, pair_ms);
    std::vector<const Stored*> every;
    std::uint64_t all_bytes = 0;
    for (const Stored& each : operands) every.push_back(&each), all_bytes += each.bytes;
    all_bytes += sum(every, all_ms).bytes;
    Stored chain = sum({every[0], every[1]}, pairs_ms);
    for (unsigned i = 2; i < kMost; ++i) {
      double ms = 0;
      chain = sum({&chain, every[i]}, ms);
      pairs_ms += ms;
    }
    const auto size = static_cast<double>(bytes_);
    fmt::print(" {:6.2f} {:6.2f} | {:8.3f} {:8.0f} {:6.0f} % {:6.1f}x",
               size / static_cast<double>(operands[0].bytes), size / static_cast<double>(pair.bytes), pair_ms,
               size / pair_ms * 1e-6, of_floor(operands[0].bytes + operands[1].bytes + pair.bytes, pair_ms),
               (decode_ms + add_ms + encode_ms) / pair_ms);
    print(all_ms, all_bytes);
    fmt::print(" {:6.2f}x", pairs_ms / all_ms);
  }

  void measure_fused(const Stored& stream, double abs_error) {
    const double fused_ms = fuse(stream, abs_error, {}),
                 decoding_ms = fuse(stream, abs_error, decoded_.bytes());
    const std::uint64_t moved = bytes_ + stream.bytes + fetch<std::uint64_t>(small_.bytes());
    print(fused_ms, moved);
    print(decoding_ms, bytes_ + moved);
  }

  void measure_numbers(const Stored& x, const Stored& y) {
    const OpenStream a = must(open_stream(registry(), x.stream(), exec())),
                     b = must(open_stream(registry(), y.stream(), exec()));
    print(milliseconds([&] { return moments(a, exec()).status(); }), x.bytes);
    print(milliseconds([&] { return dot(a, b, exec()).status(); }), x.bytes + y.bytes);
    double ms = 0;
    const Stored least = compute({&x, &y}, ms, [&](const auto& operands, Bytes stream, Bytes scratch) {
      return extremum_of_streams(Extremum::least, operands[0], operands[1], stream, scratch, size(), exec());
    });
    print(ms, x.bytes + y.bytes + least.bytes);
  }

  template <class F>
  double milliseconds(F&& enqueue) {
    std::vector<double> times;
    for (unsigned i = 0; i < repeats_ + 2; ++i) {
      must(watch_.start(queue()));
      must(enqueue());
      const double time = must(watch_.stop(queue()));
      if (i >= 2) times.push_back(time);
    }
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
  }

  template <class Number>
  Number fetch(ConstBytes from) {
    Number number;
    must(gpu::copy(from.first(sizeof number), std::as_writable_bytes(std::span(&number, 1)), queue()));
    must(gpu::wait(queue()));
    return number;
  }
  void check_fault() {
    if (fetch<std::uint32_t>({small_.bytes().data() + 128, 4}) == 0) return;
    must(Status(Code::internal, "the GPU found a fault"));
  }

  // The stream, in memory of its size.
  Stored keep(const gpu::Memory& from) {
    Stored stored;
    stored.bytes = fetch<std::uint64_t>(small_.bytes());
    stored.memory = must(gpu::Memory::on_device(stored.bytes));
    must(gpu::copy(from.bytes().first(stored.bytes), stored.memory.bytes(), queue()));
    return stored;
  }

  Stored encode(const Compression& compression, unsigned i) {
    const StreamFootprint needs = must(footprint(compression, exec()));
    gpu::Memory out = must(gpu::Memory::on_device(needs.stream_bytes));
    gpu::Memory scratch = must(gpu::Memory::on_device(needs.scratch_bytes));
    encode_ms_ = milliseconds(
        [&] { return encode_stream(compression, part(i), out.bytes(), scratch.bytes(), size(), exec()); });
    return keep(out);
  }
  double decode(const Stored& stored) {
    const OpenStream open = must(open_stream(registry(), stored.stream(), exec()));
    gpu::Memory scratch = must(gpu::Memory::on_device(open.scratch_bytes));
    const double ms =
        milliseconds([&] { return decode_stream(open, decoded_.bytes(), scratch.bytes(), exec()); });
    check_fault();
    return ms;
  }

  // What `work(operands, stream, scratch)` makes.
  template <class Work>
  Stored compute(const std::vector<const Stored*>& of, double& ms, Work&& work) {
    std::vector<OpenStream> operands;
    for (const Stored* each : of) operands.push_back(must(open_stream(registry(), each->stream(), exec())));
    const StreamFootprint needs = must(combination_footprint(operands, exec()));
    gpu::Memory out = must(gpu::Memory::on_device(needs.stream_bytes));
    gpu::Memory scratch = must(gpu::Memory::on_device(needs.scratch_bytes));
    ms = milliseconds([&] { return work(operands, out.bytes(), scratch.bytes()); });
    check_fault();
    return keep(out);
  }

  Stored sum(const std::vector<const Stored*>& of, double& ms) {
    const Combination combination{std::span(kOnes).first(of.size())};
    return compute(of, ms, [&](const auto& operands, Bytes stream, Bytes scratch) {
      return combine_streams(combination, operands, stream, scratch, size(), exec());
    });
  }

  // The stream plus the values of the second operand.
  double fuse(const Stored& stream, double abs_error, Bytes decoded) {
    const OpenStream open = must(open_stream(registry(), stream.stream(), exec()));
    const StreamFootprint needs = must(combination_footprint({&open, 1}, exec()));
    gpu::Memory out = must(gpu::Memory::on_device(needs.stream_bytes));
    gpu::Memory scratch = must(gpu::Memory::on_device(needs.scratch_bytes));
    const double ms = milliseconds([&] {
      return accumulate(open, part(1), abs_error, out.bytes(), decoded, scratch.bytes(), size(), exec());
    });
    check_fault();
    return ms;
  }

  const std::uint64_t bytes_;
  const unsigned repeats_;
  gpu::Stream stream_ = must(gpu::Stream::make());
  gpu::Stopwatch watch_ = must(gpu::Stopwatch::make());
  gpu::Memory small_ = must(gpu::Memory::on_device(256));
  Buffer values_;  // of all operands, one after the other, kApart
  gpu::Memory data_, decoded_;
  double copy_ms_ = 0, encode_ms_ = 0;
};

int run(std::uint64_t mib, unsigned repeats, std::string_view data, std::string_view bounds) {
  must(gpu::ready());
  Bench bench(mib << 20, repeats);
  for (const Synthetic kind : {Synthetic::normal, Synthetic::walk, Synthetic::smooth}) {
    if (!data.empty() && data != to_string(kind)) continue;
    bench.put(kind);
    for (const ErrorBound bound :
         {ErrorBound{BoundMode::absolute, 1e-4}, ErrorBound{BoundMode::relative, 1e-3},
          ErrorBound{BoundMode::relative, 1e-2}})
      if (bounds.empty() || bounds == to_string(bound)) bench.measure(kind, bound);
  }
  return 0;
}

}  // namespace
}  // namespace homz

int main(int argc, char** argv) {
  const auto number = [&](int at, unsigned otherwise) {
    return argc > at ? static_cast<unsigned>(std::strtoul(argv[at], nullptr, 10)) : otherwise;
  };
  return homz::run(number(1, 1024), number(2, 9), argc > 3 ? argv[3] : "", argc > 4 ? argv[4] : "");
}
