#include "core/gpu/offload.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "core/gpu/ferry.hpp"
#include "core/gpu/gpu.hpp"
#include "core/gpu/region.hpp"

namespace homz::gpu {
namespace {

constexpr unsigned kCopiers = 4;
constexpr std::uint64_t kSpare =
    256 << 20;  // bytes of the GPU's memory for what is not ours: kernels, and others
constexpr const char* kRemedy = "work on the host, or compress the field in slabs, a stream each";

// Seats take memory that is only read along with what is written.
Bytes seatable(ConstBytes memory) {
  return {const_cast<std::byte*>(memory.data()), memory.size()};
}

Status reserve(Memory* memory, std::uint64_t bytes) {
  if (memory->bytes().data() != nullptr && memory->size() >= bytes) return Status();
  *memory = Memory();
  HOMZ_ASSIGN(*memory, Memory::on_device(bytes));
  return Status();
}

Status no_room(std::uint64_t bytes, std::uint64_t room) {
  return Status(
      Code::out_of_memory,
      fmt::format("{} bytes do not fit in what is left of the GPU's memory, {} bytes", bytes, room));
}

// A buffer of the host as kernels have it: a copy in the GPU's memory; or, if there is no room for one, the
// buffer itself, which they reach across the bus. So transfer and work are one pass, and nothing is cut: a
// stream is made and read by kernels that see all of it.
class Seat {
 public:
  // `kept` becomes the copy's memory; `room` is what may be taken beyond all that is kept. `host` gives the
  // buffer, of `bytes`, and is asked only where there is no room for a copy.
  template <class Host>
  static Result<Seat> make(std::uint64_t bytes, Host host, Memory* kept, std::uint64_t* room) {
    Seat seat;
    const std::uint64_t all = *room + kept->size();
    const Status reserved = bytes <= all ? reserve(kept, bytes) : no_room(bytes, all);
    if (!reserved.ok()) *kept = Memory();
    *room = all - kept->size();
    if (reserved.ok()) {
      seat.is_copy_ = true;
      seat.there_ = kept->bytes().first(bytes);
      return Result<Seat>(std::move(seat));
    }
    if (reserved.code() != Code::out_of_memory) return reserved;
    HOMZ_ASSIGN(const Bytes buffer, host());
    auto mapping = Mapping::make(buffer);
    if (!mapping.ok())
      return Status(mapping.status().code(),
                    fmt::format("{}, and the host's cannot be reached ({}): {}", reserved.message(),
                                mapping.status().message(), kRemedy));
    seat.mapping_ = std::move(*mapping);
    seat.there_ = seat.mapping_.bytes();
    return Result<Seat>(std::move(seat));
  }
  static Result<Seat> make(Bytes host, Memory* kept, std::uint64_t* room) {
    return make(
        host.size(), [&] { return Result<Bytes>(host); }, kept, room);
  }

  Bytes there() const { return there_; }
  std::uint64_t copied() const { return is_copy_ ? there_.size() : 0; }
  // Between the copy, if there is one, and the buffer or its front.
  Status to_gpu(Ferry& ferry, ConstBytes host) const {
    return is_copy_ ? ferry.to_gpu(host, there_) : Status();
  }
  Status to_host(Ferry& ferry, Bytes host) const {
    return is_copy_ ? ferry.to_host(ConstBytes(there_).first(host.size()), host) : Status();
  }

 private:
  Bytes there_;
  Mapping mapping_;
  bool is_copy_ = false;
};

template <class T>
Result<T> fetch(const Memory& memory, CUstream_st* stream) {
  T value{};
  HOMZ_TRY(copy(memory.bytes().first(sizeof value), std::as_writable_bytes(std::span(&value, 1)), stream));
  HOMZ_TRY(wait(stream));
  return value;
}

}  // namespace

struct Offload::State {
  std::uint64_t limit = 0;  // of the room
  Ferry ferry;
  Stream stream;
  Memory size, fault;                   // told by kernels
  Memory scratch, coded, values, part;  // kept
  std::uint64_t room = 0;

  Status open() {
    HOMZ_TRY(ready());
    HOMZ_ASSIGN(stream, Stream::make());
    HOMZ_ASSIGN(size, Memory::on_device(sizeof(std::uint64_t)));
    HOMZ_ASSIGN(fault, Memory::on_device(sizeof(std::uint32_t)));
    return Status();
  }

  Exec exec() { return device(stream.get(), reinterpret_cast<std::uint32_t*>(fault.bytes().data())); }

  // Takes the scratch, and finds the room for copies of a stream and values. What is kept is used again, if
  // all of it suffices: then nobody has to ask the GPU.
  Status make_room(std::uint64_t for_scratch, std::uint64_t for_stream, std::uint64_t for_values) {
    room = limit - (scratch.size() + coded.size() + values.size() + part.size());
    if (scratch.size() >= for_scratch && coded.size() >= for_stream && values.size() >= for_values)
      return Status();
    for (Memory* memory : {&scratch, &coded, &values, &part}) *memory = Memory();
    HOMZ_ASSIGN(const std::uint64_t free, free_memory());
    room = std::min(limit, free - std::min(free, kSpare));
    // Others may take what was free, so that less can be had than was told.
    const Status taken = for_scratch <= room ? reserve(&scratch, for_scratch) : no_room(for_scratch, room);
    if (!taken.ok())
      return Status(taken.code(), fmt::format("scratch for {} bytes of values: {}: {}", for_values,
                                              taken.message(), kRemedy));
    room -= for_scratch;
    return Status();
  }

  // When kernels no longer touch any buffer.
  Status settle(const Status& enqueued) const {
    const Status done = wait(stream.get());
    HOMZ_TRY(enqueued);
    return done;
  }

  Status encode(const Compression& compression, ConstBytes data, Bytes target, std::uint64_t* stream_bytes) {
    HOMZ_ASSIGN(const StreamFootprint needs, footprint(compression, exec()));
    const Bytes whole = target.first(std::min<std::uint64_t>(target.size(), needs.stream_bytes));
    HOMZ_TRY(make_room(needs.scratch_bytes, whole.size(), data.size()));
    HOMZ_ASSIGN(const Seat made, Seat::make(whole, &coded, &room));
    HOMZ_ASSIGN(const Seat given, Seat::make(seatable(data), &values, &room));
    HOMZ_TRY(ferry.prepare(std::max(made.copied(), given.copied())));
    HOMZ_TRY(given.to_gpu(ferry, data));
    HOMZ_TRY(settle(encode_stream(compression, given.there(), made.there(), scratch.bytes(),
                                  reinterpret_cast<std::uint64_t*>(size.bytes().data()), exec())));
    HOMZ_ASSIGN(*stream_bytes, fetch<std::uint64_t>(size, stream.get()));
    return made.to_host(ferry, whole.first(*stream_bytes));
  }

  // The values, of `size` bytes, are in the seat then. `host`: as for Seat.
  template <class Host>
  Result<Seat> decode(const Registry& registry, const StreamHeader& header, ConstBytes bytes,
                      std::uint64_t size, Host host) {
    HOMZ_ASSIGN(OpenStream open, open_stream(registry, header, bytes, exec()));
    HOMZ_TRY(make_room(open.scratch_bytes, bytes.size(), size));
    HOMZ_ASSIGN(const Seat given, Seat::make(seatable(bytes), &coded, &room));
    HOMZ_ASSIGN(Seat made, Seat::make(size, host, &values, &room));
    HOMZ_TRY(ferry.prepare(std::max(given.copied(), made.copied())));
    HOMZ_TRY(given.to_gpu(ferry, bytes));
    open.payload = ConstBytes(given.there()).subspan(StreamHeader::kBytes);
    HOMZ_TRY(settle(decode_stream(open, made.there(), scratch.bytes(), exec())));
    HOMZ_ASSIGN(const std::uint32_t code, fetch<std::uint32_t>(fault, stream.get()));
    if (code != 0)
      return Status(static_cast<Code>(code),
                    "the payload is damaged: its checksum or its structure is wrong");
    return Result<Seat>(std::move(made));
  }

  Status decode(const Registry& registry, ConstBytes bytes, Bytes data) {
    HOMZ_ASSIGN(const StreamHeader header, load(bytes));
    const auto buffer = [&] { return Result<Bytes>(data); };
    HOMZ_ASSIGN(const Seat made, decode(registry, header, bytes, data.size(), buffer));
    return made.to_host(ferry, data);
  }

  Status decode_region(const Registry& registry, ConstBytes bytes, const Region& region, Bytes target) {
    HOMZ_ASSIGN(const StreamHeader header, load(bytes));
    HOMZ_ASSIGN(const Field field, field_of(region, header.field));
    if (target.size() != field.bytes())
      return Status(Code::invalid_argument, fmt::format("the region holds {} bytes; the buffer for it has {}",
                                                        field.bytes(), target.size()));
    Buffer whole;
    const auto take_whole = [&]() -> Result<Bytes> {
      HOMZ_TRY(whole.reserve(header.field.bytes()));
      return whole.bytes();
    };
    HOMZ_ASSIGN(const Seat all, decode(registry, header, bytes, header.field.bytes(), take_whole));
    HOMZ_ASSIGN(const Seat taken, Seat::make(target, &part, &room));
    HOMZ_TRY(settle(copy_region(region, header.field, all.there(), taken.there(), exec())));
    return taken.to_host(ferry, target);
  }
};

Offload::Offload(std::unique_ptr<State> state) : state_(std::move(state)) {}
Offload::Offload(Offload&&) noexcept = default;
Offload& Offload::operator=(Offload&&) noexcept = default;
Offload::~Offload() = default;

Result<Offload> Offload::make(unsigned threads, std::uint64_t room) {
  return no_throw([&]() -> Result<Offload> {
    auto state = std::make_unique<State>();
    state->limit = room;
    state->ferry = Ferry(std::clamp(threads, 1u, kCopiers));
    HOMZ_TRY(state->open());
    return Offload(std::move(state));
  });
}

Status Offload::encode(const Compression& compression, ConstBytes data, Bytes stream,
                       std::uint64_t* stream_bytes) {
  return no_throw([&] { return state_->encode(compression, data, stream, stream_bytes); });
}

Status Offload::decode(const Registry& registry, ConstBytes stream, Bytes data) {
  return no_throw([&] { return state_->decode(registry, stream, data); });
}

Status Offload::decode_region(const Registry& registry, ConstBytes stream, const Region& region, Bytes part) {
  return no_throw([&] { return state_->decode_region(registry, stream, region, part); });
}

Result<Compressed> compress_resolved(const Compression& compression, ConstBytes data, std::uint64_t room) {
  return no_throw([&]() -> Result<Compressed> {
    HOMZ_ASSIGN(Offload offload, Offload::make(kCopiers, room));
    HOMZ_ASSIGN(const StreamFootprint needs, footprint(compression, device(nullptr)));
    Compressed result;
    HOMZ_ASSIGN(result.buffer, Buffer::make(needs.stream_bytes));
    HOMZ_TRY(offload.encode(compression, data, result.buffer.bytes(), &result.bytes));
    return Result<Compressed>(std::move(result));
  });
}

Result<Decompressed> decompress(const Registry& registry, ConstBytes stream, std::uint64_t max_bytes,
                                std::uint64_t room) {
  return no_throw([&]() -> Result<Decompressed> {
    HOMZ_ASSIGN(Offload offload, Offload::make(kCopiers, room));
    HOMZ_ASSIGN(const OpenStream open, open_stream(registry, stream, host()));
    const std::uint64_t size = open.header.field.bytes();
    HOMZ_TRY(check_declared(size, max_bytes));
    Decompressed result{open.header, {}};
    HOMZ_ASSIGN(result.data, Buffer::make(size));
    HOMZ_TRY(offload.decode(registry, stream, result.data.bytes()));
    return Result<Decompressed>(std::move(result));
  });
}

Result<Decompressed> decompress_region(const Registry& registry, ConstBytes stream, const Region& region,
                                       std::uint64_t max_bytes, std::uint64_t room) {
  return no_throw([&]() -> Result<Decompressed> {
    HOMZ_ASSIGN(Offload offload, Offload::make(kCopiers, room));
    HOMZ_ASSIGN(const OpenStream open, open_stream(registry, stream, host()));
    HOMZ_ASSIGN(const Field part, field_of(region, open.header.field));
    HOMZ_TRY(check_declared(open.header.field.bytes(), max_bytes));
    Decompressed result{open.header, {}};
    HOMZ_ASSIGN(result.data, Buffer::make(part.bytes()));
    HOMZ_TRY(offload.decode_region(registry, stream, region, result.data.bytes()));
    return Result<Decompressed>(std::move(result));
  });
}

}  // namespace homz::gpu
