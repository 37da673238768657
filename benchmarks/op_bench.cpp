// Measures arithmetic on streams on the host: sums of two and of eight streams, in GB/s of the values of one
// of them, against decompressing, adding and compressing (medians of interleaved runs, memory reused).
// usage: op_bench [values of a stream [repeats [codec:options [data [bound]]]]]
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "benchmarks/measuring.hpp"
#include "codecs/builtin.hpp"
#include "codecs/homcomp/step.hpp"
#include "data/synthetic.hpp"
#include "homomorphic/arithmetic.hpp"

namespace homz {
namespace {

constexpr unsigned kMost = 8;  // operands
const std::vector<std::int32_t> kOnes(kMost, 1);

struct Row {
  Synthetic kind;
  ErrorBound bound;
};

class Bench {
 public:
  Bench(std::uint64_t count, unsigned repeats, std::string codec)
      : count_(count),
        repeats_(repeats),
        codec_(std::move(codec)),
        data_(must(Buffer::make(4 * count * kMost))),
        decoded_(must(Buffer::make(4 * count))),
        added_(must(Buffer::make(4 * count))) {}

  void measure(Synthetic kind, const ErrorBound& bound) {
    if (!generated_ || *generated_ != kind) generate(kind, Dtype::f32, count_ * kMost, data_.bytes(), 0);
    generated_ = kind;
    Compression compression;
    compression.field = *Field::make(Dtype::f32, std::vector<std::uint64_t>{count_});
    compression.requested = bound;
    compression.abs_error = must(resolve_over(compression.field, part(0), bound, std::nullopt, host()));
    compression.choice = must(registry().choose(with_step(compression.abs_error)));
    compression.always_coded = true;
    std::vector<Compressed> streams;
    std::vector<OpenStream> operands;
    std::uint64_t stream_bytes = 0;
    for (unsigned i = 0; i < kMost; ++i) {
      streams.push_back(must(compress_resolved(compression, part(i), host())));
      stream_bytes += streams.back().bytes;
    }
    for (const Compressed& each : streams)
      operands.push_back(must(open_stream(registry(), each.stream(), host())));
    print_row(kind, bound, compression, operands,
              static_cast<double>(4 * count_ * kMost) / static_cast<double>(stream_bytes));
  }

 private:
  using Work = std::function<void()>;

  // If none is given, the one that the encoder would take for all operands together.
  std::string with_step(double abs_error) const {
    if (codec_.find("step=") != std::string::npos) return codec_;
    const float step = homcomp::choose_step<float>(abs_error, true, data_.bytes(), std::nullopt);
    return fmt::format("{}{}step={}", codec_, codec_.find(':') == std::string::npos ? ":" : ",",
                       double{step});
  }

  ConstBytes part(unsigned i) const { return data_.bytes().subspan(4 * count_ * i, 4 * count_); }

  // Median seconds of each, taken in turn.
  std::vector<double> times(const std::vector<Work>& works) const {
    std::vector<std::vector<double>> all(works.size());
    for (unsigned repeat = 0; repeat <= repeats_; ++repeat)
      for (std::size_t i = 0; i < works.size(); ++i) {
        const auto begin = std::chrono::steady_clock::now();
        works[i]();
        const std::chrono::duration<double> time = std::chrono::steady_clock::now() - begin;
        if (repeat != 0) all[i].push_back(time.count());
      }
    std::vector<double> medians;
    for (const auto& each : all) medians.push_back(median(each));
    return medians;
  }

  void print_row(Synthetic kind, const ErrorBound& bound, const Compression& compression,
                 std::span<const OpenStream> operands, double ratio) {
    const StreamFootprint needs = must(combination_footprint(operands, host()));
    const StreamFootprint encode_needs = must(footprint(compression, host()));
    Buffer result = must(Buffer::make(needs.stream_bytes)), other = must(Buffer::make(needs.stream_bytes));
    Buffer scratch = must(Buffer::make(std::max({needs.scratch_bytes, encode_needs.scratch_bytes,
                                                 operands[0].scratch_bytes, operands[1].scratch_bytes})));
    std::uint64_t bytes = 0;
    const auto sum = [&](std::span<const OpenStream> of, Buffer& to) {
      must(combine_streams({std::span(kOnes).first(of.size()), 0, 1}, of, to.bytes(), scratch.bytes(), &bytes,
                           host()));
    };
    const auto add_decoded = [&] {
      must(decode_stream(operands[0], decoded_.bytes(), scratch.bytes(), host()));
      must(decode_stream(operands[1], added_.bytes(), scratch.bytes(), host()));
      auto* const a = reinterpret_cast<float*>(decoded_.bytes().data());
      const auto* const b = reinterpret_cast<const float*>(added_.bytes().data());
      for (std::uint64_t i = 0; i < count_; ++i) a[i] += b[i];
      must(encode_stream(compression, decoded_.bytes(), result.bytes(), scratch.bytes(), &bytes, host()));
    };
    const auto pairwise = [&] {
      Buffer* from = &other;
      Buffer* to = &result;
      sum(operands.first(2), *from);
      for (unsigned i = 2; i < kMost; ++i) {
        const OpenStream so_far = must(open_stream(registry(), from->bytes().first(bytes), host()));
        const OpenStream two[] = {so_far, operands[i]};
        sum(two, *to);
        std::swap(from, to);
      }
    };
    const std::vector<double> seconds = times(
        {[&] { sum(operands.first(2), result); }, add_decoded, [&] { sum(operands, result); }, pairwise});
    const double gigabytes = static_cast<double>(4 * count_) / 1e9;
    fmt::print("| {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} |\n",
               to_string(kind), to_string(bound), ratio, gigabytes / seconds[0], gigabytes / seconds[1],
               seconds[1] / seconds[0], gigabytes / seconds[2], gigabytes / seconds[3],
               seconds[3] / seconds[2]);
    std::fflush(stdout);
  }

  const std::uint64_t count_;
  const unsigned repeats_;
  const std::string codec_;
  Buffer data_, decoded_, added_;
  std::optional<Synthetic> generated_;
};

int run(int argc, char** argv) {
  const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 16'000'000;
  const auto repeats = static_cast<unsigned>(argc > 2 ? std::strtoul(argv[2], nullptr, 10) : 7);
  const std::string codec = argc > 3 ? argv[3] : "homcomp";
  fmt::print("{}, {} values of f32 a stream, one thread, medians of {} runs\n\n", codec, count, repeats);
  fmt::print(
      "| data | bound | ratio | a + b GB/s | decode, add, encode GB/s | times faster | sum of 8 GB/s | "
      "seven sums of two GB/s | times faster |\n|---|---|---:|---:|---:|---:|---:|---:|---:|\n");
  Bench bench(count, repeats, codec);
  for (const Synthetic kind : {Synthetic::normal, Synthetic::walk, Synthetic::smooth})
    for (const ErrorBound& bound :
         {ErrorBound{BoundMode::absolute, 1e-4}, ErrorBound{BoundMode::relative, 1e-3},
          ErrorBound{BoundMode::relative, 1e-2}})
      if ((argc <= 4 || to_string(kind) == argv[4]) && (argc <= 5 || to_string(bound) == argv[5]))
        bench.measure(kind, bound);
  return 0;
}

}  // namespace
}  // namespace homz

int main(int argc, char** argv) {
  return homz::run(argc, argv);
}
