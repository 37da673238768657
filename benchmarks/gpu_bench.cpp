// Measures codecs on a GPU: GB/s of values, and what fraction of the copy bandwidth the bytes that must move
// make up (values read and stream written, or the other way round; medians; the copy is measured in the same
// run). usage: gpu_bench [MiB [repeats [codec ...]]]
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "benchmarks/measuring.hpp"
#include "codecs/builtin.hpp"
#include "collectives/peer_memory.hpp"
#include "core/buffer.hpp"
#include "core/gpu/gpu.hpp"
#include "core/gpu/offload.hpp"
#include "core/metrics.hpp"
#include "core/stream.hpp"
#include "data/synthetic.hpp"

namespace homz {
namespace {

// Bits of i that look random (after the finaliser of SplitMix64, Steele, Lea, Flood, OOPSLA 2014).
std::uint64_t mixed(std::uint64_t i) {
  i = (i + 0x9e3779b97f4a7c15) * 0xbf58476d1ce4e5b9;
  i = (i ^ i >> 27) * 0x94d049bb133111eb;
  return i ^ i >> 31;
}

struct Bench {
  unsigned repeats;
  gpu::Stream stream = must(gpu::Stream::make());
  gpu::Stopwatch watch = must(gpu::Stopwatch::make());
  gpu::Memory small = must(gpu::Memory::on_device(256));
  gpu::Memory host = must(gpu::Memory::pinned(256));
  double copy_gbps = 0;  // read and written

  template <class F>
  double milliseconds(F&& enqueue) {
    std::vector<double> times;
    for (unsigned i = 0; i < repeats + 2; ++i) {
      must(watch.start(stream.get()));
      must(enqueue());
      const double time = must(watch.stop(stream.get()));
      if (i >= 2) times.push_back(time);
    }
    return median(times);
  }
  template <class F>
  double call_microseconds(F&& enqueue) {
    std::vector<double> times;
    for (unsigned i = 0; i < 60; ++i) {
      const auto begin = std::chrono::steady_clock::now();
      must(enqueue());
      must(gpu::wait(stream.get()));
      const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
      if (i >= 10) times.push_back(time.count());
    }
    return median(times);
  }
  std::uint64_t* size() { return reinterpret_cast<std::uint64_t*>(small.bytes().data()); }
  std::uint32_t* fault() { return reinterpret_cast<std::uint32_t*>(small.bytes().data() + 128); }
};

// On GPUs, and not in two or three dimensions.
bool codes_rows(const std::string& codec) {
  const auto choice = registry().choose(codec);
  return choice.ok() && choice->codec->on_device() && codec.find("dim=2") == codec.npos &&
         codec.find("dim=3") == codec.npos;
}

struct Case {
  std::string codec;
  Field field;
  ErrorBound bound;
  std::optional<std::uint64_t> fill_bits = {};
};

Compression compression_of(const Case& one, double abs_error) {
  return {must(registry().choose(one.codec)), one.field, abs_error, one.bound, one.fill_bits, false};
}

void measure(Bench& bench, const char* name, const Case& one, ConstBytes host_data, gpu::Memory& data,
             gpu::Memory& decoded) {
  const Exec exec = device(bench.stream.get(), bench.fault());
  const double bound = must(resolve_over(one.field, data.bytes(), one.bound, one.fill_bits, exec));
  const Compression compression = compression_of(one, bound);
  const StreamFootprint needs = must(footprint(compression, exec));
  gpu::Memory out = must(gpu::Memory::on_device(needs.stream_bytes));
  gpu::Memory scratch = must(gpu::Memory::on_device(needs.scratch_bytes));
  const double encode_ms = bench.milliseconds([&] {
    return encode_stream(compression, data.bytes(), out.bytes(), scratch.bytes(), bench.size(), exec);
  });
  std::uint64_t bytes = 0;
  must(gpu::copy({bench.small.bytes().data(), 8}, std::as_writable_bytes(std::span(&bytes, 1)),
                 bench.stream.get()));
  must(gpu::wait(bench.stream.get()));
  const OpenStream open = must(open_stream(registry(), ConstBytes(out.bytes()).first(bytes), exec));
  gpu::Memory space = must(gpu::Memory::on_device(open.scratch_bytes));
  const double decode_ms =
      bench.milliseconds([&] { return decode_stream(open, decoded.bytes(), space.bytes(), exec); });
  std::uint32_t fault = 0;
  std::vector<std::byte> back(std::min<std::uint64_t>(host_data.size(), 64 << 20));
  must(gpu::copy({bench.small.bytes().data() + 128, 4}, std::as_writable_bytes(std::span(&fault, 1)),
                 bench.stream.get()));
  must(gpu::copy(ConstBytes(decoded.bytes()).first(back.size()), back, bench.stream.get()));
  must(gpu::wait(bench.stream.get()));
  const Comparison comparison{one.field.dtype, compression.choice.codec->info().lossless ? 0 : bound,
                              one.fill_bits};
  const bool kept = compare(comparison, host_data.first(back.size()), back, 0, 0).violations == 0;
  const double moved = static_cast<double>(host_data.size() + bytes),
               size = static_cast<double>(host_data.size());
  const auto fraction = [&](double ms) { return 100 * moved / ms * 1e-6 / bench.copy_gbps; };
  fmt::print("{:8} {:4} {:22} {:9} {:7.2f} {:8.0f} {:4.0f} % {:8.0f} {:4.0f} %  {:6.2f} %  {}\n", name,
             to_string(one.field.dtype), one.codec, to_string(one.bound), size / static_cast<double>(bytes),
             size / encode_ms * 1e-6, fraction(encode_ms), size / decode_ms * 1e-6, fraction(decode_ms),
             100 * static_cast<double>(std::max(needs.scratch_bytes, open.scratch_bytes)) / size,
             fault != 0 ? "FAULT"
             : kept     ? "kept"
                        : "VIOLATED");
  std::fflush(stdout);
}

void measure_calls(Bench& bench, const std::string& codec, ConstBytes data, gpu::Memory& decoded) {
  for (const std::uint64_t kib : {64, 256, 1024, 4096, 16384}) {
    const Case one{codec, Field::flat(Dtype::f32, kib * 256), {BoundMode::absolute, 1e-3}};
    const Compression compression = compression_of(one, 1e-3);
    const Exec exec = device(bench.stream.get(), bench.fault());
    const StreamFootprint needs = must(footprint(compression, exec));
    gpu::Memory out = must(gpu::Memory::on_device(needs.stream_bytes));
    gpu::Memory scratch = must(gpu::Memory::on_device(needs.scratch_bytes));
    const auto enqueue = [&] {
      return encode_stream(compression, data.first(kib * 1024), out.bytes(), scratch.bytes(), bench.size(),
                           exec);
    };
    const double encode_us = bench.call_microseconds(enqueue);
    must(gpu::Graph::begin(bench.stream.get()));
    must(enqueue());
    const gpu::Graph graph = must(gpu::Graph::end(bench.stream.get()));
    const double graph_us = bench.call_microseconds([&] { return graph.launch(bench.stream.get()); });
    std::uint64_t bytes = 0;
    must(gpu::copy({bench.small.bytes().data(), 8}, std::as_writable_bytes(std::span(&bytes, 1)),
                   bench.stream.get()));
    must(gpu::wait(bench.stream.get()));
    const OpenStream open = must(open_stream(registry(), ConstBytes(out.bytes()).first(bytes), exec));
    gpu::Memory space = must(gpu::Memory::on_device(open.scratch_bytes));
    const auto decode = [&] {
      return decode_stream(open, decoded.bytes().first(kib * 1024), space.bytes(), exec);
    };
    const double decode_us = bench.call_microseconds(decode);
    must(gpu::Graph::begin(bench.stream.get()));
    must(decode());
    const gpu::Graph decode_graph = must(gpu::Graph::end(bench.stream.get()));
    const double decode_graph_us =
        bench.call_microseconds([&] { return decode_graph.launch(bench.stream.get()); });
    // Programs that go on with the size or the fault on the host have a copy to wait for.
    const double size_us = bench.call_microseconds([&] {
      HOMZ_TRY(enqueue());
      return gpu::copy({bench.small.bytes().data(), 8}, bench.host.bytes(), bench.stream.get());
    });
    const double fault_us = bench.call_microseconds([&] {
      HOMZ_TRY(decode());
      return gpu::copy({bench.small.bytes().data() + 128, 4}, bench.host.bytes(), bench.stream.get());
    });
    fmt::print(
        "{:25} {:6} KiB: encode {:5.1f} us, as a graph {:5.1f}, with the size {:5.1f}; decode {:5.1f} us, "
        "as a graph {:5.1f}, with the fault {:5.1f}\n",
        codec, kib, encode_us, graph_us, size_us, decode_us, decode_graph_us, fault_us);
  }
}

// From pageable memory of the host and back to it, allocations included; copied, and where it stays (mapped).
void measure_offload(const std::string& codec, ConstBytes data) {
  const Compression compression =
      compression_of({codec, Field::flat(Dtype::f32, data.size() / 4), {BoundMode::absolute, 1e-3}}, 1e-3);
  const StreamFootprint needs = must(footprint(compression, device(nullptr)));
  for (const bool is_mapped : {false, true}) {
    std::vector<double> there, back;
    for (unsigned i = 0; i < 4; ++i) {
      const std::uint64_t room = is_mapped ? needs.scratch_bytes : gpu::kAllRoom;
      const auto begin = std::chrono::steady_clock::now();
      const Compressed made = must(gpu::compress_resolved(compression, data, room));
      const auto middle = std::chrono::steady_clock::now();
      must(gpu::decompress(registry(), made.stream(), UINT64_MAX, room));
      const auto end = std::chrono::steady_clock::now();
      if (i == 0) continue;
      there.push_back(std::chrono::duration<double>(middle - begin).count());
      back.push_back(std::chrono::duration<double>(end - middle).count());
    }
    const double size = 1e-9 * static_cast<double>(data.size());
    fmt::print("{:25} from and to host memory, {}: compress {:.1f} GB/s, decompress {:.1f} GB/s\n", codec,
               is_mapped ? "mapped" : "copied", size / median(there), size / median(back));
  }
}

// Walks of which a tenth is NaN, here and there, and of which every third block of 32 is fill.
void measure_masks(Bench& bench, const std::vector<std::string>& codecs, Bytes host_data, gpu::Memory& data,
                   gpu::Memory& decoded) {
  auto* const values = reinterpret_cast<float*>(host_data.data());
  const std::uint64_t count = host_data.size() / sizeof(float);
  constexpr float kFill = 1e20f;
  for (const bool is_fill : {false, true}) {
    generate(Synthetic::walk, Dtype::f32, count, host_data, 0);
    for (std::uint64_t i = 0; i < count; ++i)
      if (is_fill ? i / 32 % 3 == 0 : mixed(i) % 10 == 0)
        values[i] = is_fill ? kFill : std::numeric_limits<float>::quiet_NaN();
    must(gpu::copy(host_data, data.bytes(), bench.stream.get()));
    for (const std::string& codec : codecs) {
      if (!codes_rows(codec)) continue;
      Case one{codec, Field::flat(Dtype::f32, count), {BoundMode::relative, 1e-3}};
      if (is_fill) one.fill_bits = std::bit_cast<std::uint32_t>(kFill);
      measure(bench, is_fill ? "fill" : "nan", one, host_data, data, decoded);
    }
  }
}

// Where there is a second GPU: streams written to its memory while they are made, against streams that are
// made here and copied there.
void measure_reach(Bench& bench, const std::string& codec, ConstBytes data) {
  const int own = must(gpu::current()), count = must(gpu::count());
  if (count < 2) return;
  const int other = (own + 1) % count;
  const Compression compression =
      compression_of({codec, Field::flat(Dtype::f32, data.size() / 4), {BoundMode::absolute, 1e-3}}, 1e-3);
  const Exec exec = device(bench.stream.get(), bench.fault());
  const StreamFootprint needs = must(footprint(compression, exec));
  gpu::Memory here = must(gpu::Memory::on_device(needs.stream_bytes));
  gpu::Memory scratch = must(gpu::Memory::on_device(needs.scratch_bytes)), there;
  gpu::Uuid name;
  {
    const gpu::OnGpu on(other);
    must(on.status());
    name = must(gpu::uuid());
    there = must(gpu::Memory::on_device(needs.stream_bytes));
  }
  must(gpu::reach(name, true));
  const auto encode = [&](gpu::Memory& to) {
    return encode_stream(compression, data, to.bytes(), scratch.bytes(), bench.size(), exec);
  };
  const double near = bench.milliseconds([&] { return encode(here); });
  std::uint64_t bytes = 0;
  must(gpu::copy({bench.small.bytes().data(), 8}, std::as_writable_bytes(std::span(&bytes, 1)),
                 bench.stream.get()));
  must(gpu::wait(bench.stream.get()));
  const double copied = bench.milliseconds([&]() -> Status {
    HOMZ_TRY(encode(here));
    return gpu::copy(here.bytes().first(bytes), there.bytes(), bench.stream.get());
  });
  const double far = bench.milliseconds([&] { return encode(there); });
  fmt::print(
      "{:25} {} MiB to {} MB: here {:.3f} ms, and copied to the other GPU {:.3f}, written there {:.3f}\n",
      codec, data.size() >> 20, bytes / 1000000, near, copied, far);
}

Field cube_of(Dtype dtype, std::uint64_t count, unsigned dim) {
  const std::uint64_t plane = 512 * 512;
  if (dim == 1) return Field::flat(dtype, count);
  if (dim == 2) return *Field::make(dtype, std::array<std::uint64_t, 2>{count / 4096, 4096});
  return *Field::make(dtype, std::array<std::uint64_t, 3>{count / plane, 512, 512});
}

int run(std::uint64_t mib, unsigned repeats, std::vector<std::string> codecs) {
  must(gpu::ready());
  if (codecs.empty())
    codecs = {"cuszp2:mode=plain,dim=1",
              "cuszp2:mode=outlier,dim=1",
              "cuszp2:mode=plain,dim=2",
              "cuszp2:mode=plain,dim=3",
              "cuszp2:mode=outlier,dim=3",
              "cuszp",
              "homcomp",
              "homcomp:dim=2",
              "homcomp:dim=3"};
  Bench bench{repeats};
  const std::uint64_t bytes = mib << 20;
  gpu::Memory data = must(gpu::Memory::on_device(bytes)), decoded = must(gpu::Memory::on_device(bytes));
  Buffer host_data = must(Buffer::make(bytes));
  bench.copy_gbps = 2e-6 * static_cast<double>(bytes) / bench.milliseconds([&] {
    return gpu::copy(data.bytes(), decoded.bytes(), bench.stream.get());
  });
  fmt::print("{}, {} MiB, copy {:.0f} GB/s read and written\n", must(gpu::name()), mib, bench.copy_gbps);
  fmt::print("{:8} {:4} {:22} {:9} {:>7} {:>8} {:>6} {:>8} {:>6} {:>9}  bound\n", "data", "type", "codec",
             "bound", "ratio", "encode", "", "decode", "", "scratch");
  for (const Dtype dtype : {Dtype::f32, Dtype::f64})
    for (const Synthetic kind : {Synthetic::normal, Synthetic::walk, Synthetic::smooth}) {
      const std::uint64_t count = bytes / size_of(dtype);
      generate(kind, dtype, count, host_data.bytes(), 0);
      must(gpu::copy(host_data.bytes(), data.bytes(), bench.stream.get()));
      for (const std::string& codec : codecs) {
        const auto choice = registry().choose(codec);
        if (!choice.ok() || !choice->codec->on_device()) continue;
        const auto at = codec.find("dim=");
        const unsigned dim = at == codec.npos ? 1 : static_cast<unsigned>(codec[at + 4] - '0');
        for (const ErrorBound bound :
             {ErrorBound{BoundMode::absolute, 1e-4}, ErrorBound{BoundMode::relative, 1e-3},
              ErrorBound{BoundMode::relative, 1e-2}})
          if (dtype == Dtype::f32 || bound.value == 1e-3)
            measure(bench, to_string(kind).data(), {codec, cube_of(dtype, count, dim), bound},
                    host_data.bytes(), data, decoded);
      }
    }
  measure_masks(bench, codecs, host_data.bytes(), data, decoded);
  generate(Synthetic::walk, Dtype::f32, bytes / 4, host_data.bytes(), 0);
  must(gpu::copy(host_data.bytes(), data.bytes(), bench.stream.get()));
  for (const std::string& codec : codecs)
    if (codes_rows(codec)) measure_calls(bench, codec, data.bytes(), decoded);
  for (const std::string& codec : codecs)
    if (codes_rows(codec)) measure_reach(bench, codec, data.bytes());
  for (const std::string& codec : codecs)
    if (codes_rows(codec)) measure_offload(codec, host_data.bytes());
  return 0;
}

}  // namespace
}  // namespace homz

int main(int argc, char** argv) {
  const auto number = [&](int at, unsigned otherwise) {
    return argc > at ? static_cast<unsigned>(std::strtoul(argv[at], nullptr, 10)) : otherwise;
  };
  std::vector<std::string> codecs;
  for (int i = 3; i < argc; ++i) codecs.emplace_back(argv[i]);
  return homz::run(number(1, 1024), number(2, 9), codecs);
}
