#include "collectives/coder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/checksum.hpp"

namespace homz {
namespace {

class Stopwatch {
 public:
  explicit Stopwatch(double& total) : total_(total), start_(std::chrono::steady_clock::now()) {}
  ~Stopwatch() { total_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  double& total_;
  std::chrono::steady_clock::time_point start_;
};

constexpr std::size_t kOperands = 64;  // that are combined at once; more take several passes

// A few values are stored as they are where that takes fewer bytes than quanta, and then add up as floats, in
// an order that depends on the algorithm. So the last chunk of what is combined has at least so many values.
constexpr std::uint64_t kChunk = 4096, kLeast = 256;

}  // namespace

Result<Coder> Coder::make(const Coding& coding, BlockPool& pool) {
  Coder coder;
  coder.coding_ = coding;
  coder.pool_ = &pool;
  coder.params_ = coding.choice.params;
  coder.arithmetic_ = find_arithmetic(coding.choice.codec->info().id);
  if (coding.combines && (coder.arithmetic_ == nullptr || !coding.choice.codec->codes_all()))
    return Status(Code::unsupported,
                  fmt::format("codec {} has no arithmetic on its streams: choose homcomp, or a "
                              "scheme that decodes (ccoll, cprp2p)",
                              coding.choice.codec->info().name));
  // A step of their own would depend on the data: then values would move when they are encoded again.
  if (coder.arithmetic_ != nullptr && coding.step > 0) {
    HOMZ_ASSIGN(coder.params_, coder.arithmetic_->with_step(coding.choice.params, coding.step));
  }
  const std::uint64_t most = std::max(coder.padded(coding.piece_bytes), kLeast * size_of(coding.dtype));
  coder.tail_ = pool.take(coding.combines ? most : 0);
  const Encoding encoding = coder.encoding(most);
  HOMZ_ASSIGN(const Footprint codec, coding.choice.codec->footprint(encoding, coder.exec()));
  Footprint all = codec;
  if (coding.combines) {
    HOMZ_ASSIGN(const Footprint sums, coder.arithmetic_->footprint(encoding, kOperands, coder.exec()));
    all.max_payload = std::max(all.max_payload, sums.max_payload);
    all.encode_scratch = std::max(all.encode_scratch, sums.encode_scratch);
  }
  coder.capacity_ = std::max(all.max_payload, most);
  coder.scratch_ = pool.take(std::max(all.encode_scratch, all.decode_scratch));
  return coder;
}

Encoding Coder::encoding(std::uint64_t bytes) const {
  Encoding encoding;
  encoding.field = Field::flat(coding_.dtype, bytes / size_of(coding_.dtype));
  encoding.abs_error = coding_.share;
  encoding.params = params_;
  encoding.always_coded = coding_.combines;
  return encoding;
}

std::uint64_t Coder::padded(std::uint64_t bytes) const {
  const std::uint64_t size = size_of(coding_.dtype), count = bytes / size, last = count % kChunk;
  return coding_.combines && last != 0 && last < kLeast ? (count - last + kLeast) * size : bytes;
}

ConstBytes Coder::pad(ConstBytes values) {
  const std::uint64_t bytes = padded(values.size());
  if (bytes == values.size()) return values;
  const Bytes tail = tail_->room().first(bytes);
  std::fill(std::ranges::copy(values, tail.begin()).out, tail.end(), std::byte{0});
  return tail;
}

BlockPtr Coder::raw_block(ConstBytes values) {
  BlockPtr block = block_of(values.size());
  std::ranges::copy(values, block->room().begin());
  return block;
}

BlockPtr Coder::block_of(std::uint64_t bytes) {
  BlockPtr block = this->block();
  block->frame.content = Content::raw;
  block->frame.payload_bytes = static_cast<std::uint32_t>(bytes);
  return block;
}

BlockPtr Coder::seal_payload(BlockPtr block, const Encoded& encoded, bool order_matters) const {
  block->frame.content = Content::coded;
  block->frame.order_matters = order_matters;
  block->frame.payload_bytes = static_cast<std::uint32_t>(encoded.bytes);
  block->frame.has_checksum = true;
  block->frame.payload_checksum =
      coding_.choice.codec->takes_sums() ? encoded.sums.finish(encoded.bytes) : checksum(block->payload());
  return block;
}

Result<BlockPtr> Coder::encode(ConstBytes values) {
  const Stopwatch watch(times.encode);
  if (values.empty()) return block_of(0);
  BlockPtr to = block();
  Encoded encoded;
  const ConstBytes coded = pad(values);
  HOMZ_TRY(coding_.choice.codec->encode(encoding(coded.size()), coded, to->room(), scratch_->room(), &encoded,
                                        exec()));
  if (encoded.bytes == Codec::kIncompressible) {
    to = raw_block(values);
    to->frame.has_checksum = true;
    to->frame.payload_checksum = checksum(to->payload());
    return to;
  }
  return seal_payload(std::move(to), encoded, false);
}

Status Coder::decode(const Block& block, Bytes values) {
  const Stopwatch watch(times.decode);
  if (block.frame.content == Content::raw) {
    if (block.frame.payload_bytes != values.size())
      return Status(Code::corrupt_stream, fmt::format("a message of {} bytes of values, {} are wanted",
                                                      block.frame.payload_bytes, values.size()));
    std::ranges::copy(block.payload(), values.begin());
    return Status();
  }
  HOMZ_TRY(check_coded(block));
  if (values.empty()) return Status(Code::corrupt_stream, "a message of coded values where there are none");
  const bool is_padded = padded(values.size()) != values.size();
  const Bytes to = is_padded ? tail_->room().first(padded(values.size())) : values;
  const Encoding how = encoding(to.size());
  HOMZ_ASSIGN(const Footprint needs, coding_.choice.codec->footprint(how, exec()));
  if (block.frame.payload_bytes < needs.min_payload || block.frame.payload_bytes > needs.max_payload)
    return Status(Code::corrupt_stream, fmt::format("a payload of {} bytes", block.frame.payload_bytes));
  HOMZ_TRY(coding_.choice.codec->decode(how, block.payload(), to, scratch_->room(), exec()));
  if (is_padded) std::ranges::copy(to.first(values.size()), values.begin());
  return Status();
}

Status Coder::check_coded(const Block& block) const {
  if (block.frame.content == Content::coded) return Status();
  return Status(Code::corrupt_stream, "a message of other content than coded values");
}

OpenStream Coder::open(const Block& block, std::uint64_t bytes) const {
  const Encoding how = encoding(padded(bytes));
  OpenStream stream;
  stream.header.codec = coding_.choice.codec->info().id;
  stream.header.codec_version = coding_.choice.codec->info().version;
  stream.header.field = how.field;
  stream.header.abs_error = how.abs_error;
  stream.header.params = how.params;
  stream.header.payload_bytes = block.frame.payload_bytes;
  stream.header.payload_checksum = block.frame.payload_checksum;
  stream.header.order_matters = block.frame.order_matters;
  stream.codec = coding_.choice.codec;
  stream.payload = block.payload();
  return stream;
}

Result<BlockPtr> Coder::sum(std::span<const BlockPtr> blocks, std::uint64_t bytes) {
  if (bytes == 0) return block_of(0);
  BlockPtr total;
  for (std::size_t first = 0; first < blocks.size();) {
    std::vector<OpenStream> operands;
    bool order_matters = false;
    if (total) operands.push_back(open(*total, bytes));
    for (; first < blocks.size() && operands.size() < kOperands; ++first) {
      HOMZ_TRY(check_coded(*blocks[first]));
      operands.push_back(open(*blocks[first], bytes));
      order_matters |= blocks[first]->frame.order_matters;
    }
    const std::vector<std::int32_t> ones(operands.size(), 1);
    const Stopwatch watch(times.combine);
    BlockPtr to = block();
    Combined combined;
    HOMZ_TRY(arithmetic_->combine(encoding(padded(bytes)), Combination{ones}, operands, to->room(),
                                  scratch_->room(), &combined, exec()));
    total = seal_payload(std::move(to), combined.encoded, order_matters || combined.order_matters);
  }
  return total;
}

Result<BlockPtr> Coder::extremum(Extremum which, const Block& a, const Block& b, std::uint64_t bytes) {
  if (bytes == 0) return block_of(0);
  HOMZ_TRY(check_coded(a));
  HOMZ_TRY(check_coded(b));
  const Stopwatch watch(times.combine);
  BlockPtr to = block();
  Combined combined;
  HOMZ_TRY(arithmetic_->extremum(encoding(padded(bytes)), which, open(a, bytes), open(b, bytes), to->room(),
                                 scratch_->room(), &combined, exec()));
  return seal_payload(std::move(to), combined.encoded, combined.order_matters);
}

Result<BlockPtr> Coder::accumulate(const Block& block, ConstBytes values, Bytes decoded) {
  if (values.empty()) return block_of(0);
  HOMZ_TRY(check_coded(block));
  const Stopwatch watch(times.combine);
  BlockPtr to = this->block();
  Combined combined;
  const ConstBytes padded_values = pad(values);
  const bool is_padded = padded_values.size() != values.size();
  const Bytes into = is_padded && !decoded.empty() ? tail_->room().first(padded_values.size()) : decoded;
  HOMZ_TRY(arithmetic_->accumulate(encoding(padded_values.size()), open(block, values.size()), padded_values,
                                   to->room(), into, scratch_->room(), &combined, exec()));
  if (is_padded && !decoded.empty()) std::ranges::copy(into.first(decoded.size()), decoded.begin());
  return seal_payload(std::move(to), combined.encoded, block.frame.order_matters || combined.order_matters);
}

}  // namespace homz
