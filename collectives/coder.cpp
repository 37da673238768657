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

constexpr std::size_t kOperands = 32;  // that are combined at once, on GPUs too; more take several passes

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
  if (coding.combines) {
    HOMZ_ASSIGN(coder.tail_, coder.room(most));
  }
  const Encoding encoding = coder.encoding(most);
  HOMZ_ASSIGN(const Footprint codec, coding.choice.codec->footprint(encoding, coder.exec()));
  Footprint all = codec;
  if (coding.combines) {
    HOMZ_ASSIGN(const Footprint sums, coder.arithmetic_->footprint(encoding, kOperands, coder.exec()));
    all.max_payload = std::max(all.max_payload, sums.max_payload);
    all.encode_scratch = std::max(all.encode_scratch, sums.encode_scratch);
  }
  coder.capacity_ = std::max(all.max_payload, most);
  HOMZ_ASSIGN(coder.scratch_, coder.room(std::max(all.encode_scratch, all.decode_scratch)));
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

Result<ConstBytes> Coder::pad(ConstBytes values) {
  const std::uint64_t bytes = padded(values.size());
  if (bytes == values.size()) return values;
  const Bytes tail = tail_.bytes.first(bytes);
  HOMZ_TRY(processor().zero(tail.subspan(values.size())));
  HOMZ_TRY(processor().copy(values, tail));
  return ConstBytes(tail);
}

Result<BlockPtr> Coder::raw_block(ConstBytes values) {
  BlockPtr block = pool_->take(std::max<std::uint64_t>(capacity_, values.size()));
  block->frame.content = Content::raw;
  block->frame.payload_bytes = static_cast<std::uint32_t>(values.size());
  HOMZ_TRY(processor().copy(values, block->room()));
  block->frame.has_checksum = true;
  block->frame.payload_checksum = checksum(block->payload());
  return block;
}

// After an error nothing that was enqueued is under way any more.
Status Coder::settled(Status status) {
  if (!status.ok()) static_cast<void>(processor().settle());
  return status;
}

template <class Needs>
Result<std::uint64_t> Coder::zeros_of(Needs&& needs) {
  if (processor().space() == Space::host) return std::uint64_t{0};
  HOMZ_ASSIGN(const Footprint footprint, needs());
  return footprint.encode_zeros;
}

template <class Work>
Result<BlockPtr> Coder::make_payload(bool order_matters, std::uint64_t zeros, Work&& work) {
  BlockPtr block = this->block();
  HOMZ_ASSIGN(const Bytes payload, processor().output(*block));
  if (processor().space() == Space::device) HOMZ_TRY(processor().zero(scratch_.bytes.first(zeros)));
  HOMZ_TRY(settled(work(payload, processor().report())));
  HOMZ_ASSIGN(const Combined made, processor().take(*block));
  if (made.encoded.bytes == Codec::kIncompressible) return BlockPtr();
  const Codec& codec = *coding_.choice.codec;
  const bool has_sums = processor().space() == Space::device ? codec.sums_on_device() : codec.takes_sums();
  block->frame.content = Content::coded;
  block->frame.order_matters = order_matters || made.order_matters;
  block->frame.payload_bytes = static_cast<std::uint32_t>(made.encoded.bytes);
  block->frame.has_checksum = true;
  block->frame.payload_checksum =
      has_sums ? made.encoded.sums.finish(made.encoded.bytes) : checksum(block->payload());
  return block;
}

Result<BlockPtr> Coder::encode(ConstBytes values) {
  const Stopwatch watch(times.encode);
  if (values.empty()) return raw_block(values);
  HOMZ_ASSIGN(const ConstBytes coded, pad(values));
  const Encoding how = encoding(coded.size());
  HOMZ_ASSIGN(const std::uint64_t zeros,
              zeros_of([&] { return coding_.choice.codec->footprint(how, exec()); }));
  HOMZ_ASSIGN(BlockPtr block, make_payload(false, zeros, [&](Bytes payload, Combined* report) {
                return coding_.choice.codec->encode(how, coded, payload, scratch_.bytes, &report->encoded,
                                                    exec());
              }));
  return block ? Result<BlockPtr>(std::move(block)) : raw_block(values);
}

Status Coder::decode(const Block& block, Bytes values) {
  const Stopwatch watch(times.decode);
  if (block.frame.content == Content::raw) {
    if (block.frame.payload_bytes != values.size())
      return Status(Code::corrupt_stream, fmt::format("a message of {} bytes of values, {} are wanted",
                                                      block.frame.payload_bytes, values.size()));
    return processor().copy(block.payload(), values);
  }
  HOMZ_TRY(check_coded(block));
  if (values.empty()) return Status(Code::corrupt_stream, "a message of coded values where there are none");
  const bool is_padded = padded(values.size()) != values.size();
  const Bytes to = is_padded ? tail_.bytes.first(padded(values.size())) : values;
  const Encoding how = encoding(to.size());
  HOMZ_ASSIGN(const Footprint needs, coding_.choice.codec->footprint(how, exec()));
  if (block.frame.payload_bytes < needs.min_payload || block.frame.payload_bytes > needs.max_payload)
    return Status(Code::corrupt_stream, fmt::format("a payload of {} bytes", block.frame.payload_bytes));
  HOMZ_ASSIGN(const ConstBytes payload, processor().input(block));
  if (processor().space() == Space::device)
    HOMZ_TRY(processor().zero(scratch_.bytes.first(needs.decode_zeros)));
  HOMZ_TRY(settled(coding_.choice.codec->decode(how, payload, to, scratch_.bytes, exec())));
  HOMZ_TRY(processor().settle());
  return is_padded ? processor().copy(to.first(values.size()), values) : Status();
}

Status Coder::check_coded(const Block& block) const {
  if (block.frame.content == Content::coded) return Status();
  return Status(Code::corrupt_stream, "a message of other content than coded values");
}

Result<OpenStream> Coder::open(const Block& block, std::uint64_t bytes) {
  HOMZ_TRY(check_coded(block));
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
  HOMZ_ASSIGN(stream.payload, processor().input(block));
  return stream;
}

Result<BlockPtr> Coder::sum(std::span<const BlockPtr> blocks, std::uint64_t bytes) {
  if (bytes == 0) return raw_block({});
  const Stopwatch watch(times.combine);
  const Encoding how = encoding(padded(bytes));
  BlockPtr total;
  for (std::size_t first = 0; first < blocks.size();) {
    std::vector<OpenStream> operands;
    bool order_matters = false;
    const auto add = [&](const Block& block) -> Status {
      HOMZ_ASSIGN(operands.emplace_back(), open(block, bytes));
      order_matters |= block.frame.order_matters;
      return Status();
    };
    if (total) HOMZ_TRY(add(*total));
    for (; first < blocks.size() && operands.size() < kOperands; ++first) HOMZ_TRY(add(*blocks[first]));
    const std::vector<std::int32_t> ones(operands.size(), 1);
    HOMZ_ASSIGN(const std::uint64_t zeros,
                zeros_of([&] { return arithmetic_->footprint(how, operands.size(), exec()); }));
    HOMZ_ASSIGN(total, make_payload(order_matters, zeros, [&](Bytes payload, Combined* report) {
                  return arithmetic_->combine(how, Combination{ones}, operands, payload, scratch_.bytes,
                                              report, exec());
                }));
  }
  return total;
}

Result<BlockPtr> Coder::extremum(Extremum which, const Block& a, const Block& b, std::uint64_t bytes) {
  if (bytes == 0) return raw_block({});
  const Stopwatch watch(times.combine);
  HOMZ_ASSIGN(const OpenStream left, open(a, bytes));
  HOMZ_ASSIGN(const OpenStream right, open(b, bytes));
  return make_payload(false, 0, [&](Bytes payload, Combined* report) {
    return arithmetic_->extremum(encoding(padded(bytes)), which, left, right, payload, scratch_.bytes, report,
                                 exec());
  });
}

Result<BlockPtr> Coder::accumulate(const Block& block, ConstBytes values, Bytes decoded) {
  if (values.empty()) return raw_block({});
  const Stopwatch watch(times.combine);
  HOMZ_ASSIGN(const OpenStream stream, open(block, values.size()));
  HOMZ_ASSIGN(const ConstBytes operand, pad(values));
  const bool is_padded = operand.size() != values.size() && !decoded.empty();
  const Bytes into = is_padded ? tail_.bytes.first(operand.size()) : decoded;
  const Encoding how = encoding(operand.size());
  HOMZ_ASSIGN(const std::uint64_t zeros, zeros_of([&] { return arithmetic_->footprint(how, 1, exec()); }));
  HOMZ_ASSIGN(
      BlockPtr sum, make_payload(block.frame.order_matters, zeros, [&](Bytes payload, Combined* report) {
        return arithmetic_->accumulate(how, stream, operand, payload, into, scratch_.bytes, report, exec());
      }));
  if (is_padded) HOMZ_TRY(processor().copy(into.first(decoded.size()), decoded));
  return sum;
}

}  // namespace homz
