#include "tools/hdf5/workers.hpp"

#include "codecs/builtin.hpp"

namespace homz::hdf5 {

void Coder::use(unsigned threads) {
  if (threads != threads_) offload_.reset();
  threads_ = threads;
}

Status Coder::reach_gpu() {
  if (offload_) return Status();
  HOMZ_ASSIGN(offload_, gpu::Offload::make(threads_));
  return Status();
}

Status Coder::encode(const Compression& compression, ConstBytes data, Bytes stream,
                     std::uint64_t* stream_bytes) {
  if (space_ == Space::device) {
    HOMZ_TRY(reach_gpu());
    return offload_->encode(compression, data, stream, stream_bytes);
  }
  HOMZ_ASSIGN(const StreamFootprint needs, footprint(compression, host_exec()));
  HOMZ_TRY(scratch_.reserve(needs.scratch_bytes));
  return encode_stream(compression, data, stream, scratch_.bytes(), stream_bytes, host_exec());
}

Status Coder::decode(const ChunkCoding& coding, ConstBytes stream, Bytes data) {
  HOMZ_ASSIGN(const OpenStream open, open_chunk(registry(), coding, stream, host_exec()));
  if (space_ == Space::device && (open.codec == nullptr || open.codec->on_device())) {
    HOMZ_TRY(reach_gpu());
    return offload_->decode(registry(), stream, data);
  }
  HOMZ_TRY(scratch_.reserve(open.scratch_bytes));
  return decode_stream(open, data, scratch_.bytes(), host_exec());
}

Workers::Workers(unsigned threads, Space space)
    : threads_(threads == 0 ? hardware_threads() : threads), space_(space) {
  if (space == Space::host) return;
  const auto now = gpu::current();
  if (now.ok()) gpu_ = *now;  // else whoever needs it tells
}

Result<StreamFootprint> Workers::footprint(const Compression& compression) const {
  return homz::footprint(compression, space_ == Space::host ? host() : device(nullptr));
}

unsigned Workers::most() const {
  constexpr unsigned kOnGpu = 8;  // streams of the GPU at a time: they only have to keep the bus busy
  return space_ == Space::host ? threads_ : std::min(threads_, kOnGpu);
}

}  // namespace homz::hdf5
