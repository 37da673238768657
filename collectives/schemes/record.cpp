// Records as pieces that are joined.
#include "collectives/record.hpp"

#include <bit>
#include <cstring>

#include "core/bits.hpp"
#include "core/checksum.hpp"

namespace homz {
namespace {

constexpr std::size_t kNumbers = sizeof(Record) / sizeof(double);
using Numbers = std::array<double, kNumbers>;

Record load(ConstBytes bytes) {
  Numbers numbers;
  for (std::size_t i = 0; i < kNumbers; ++i)
    numbers[i] = value_of<double>(load_le<std::uint64_t>(bytes.data() + 8 * i));
  return std::bit_cast<Record>(numbers);
}

void store(const Record& record, Bytes to) {
  const auto numbers = std::bit_cast<Numbers>(record);
  for (std::size_t i = 0; i < kNumbers; ++i) store_le(to.data() + 8 * i, bits_of(numbers[i]));
}

class Records final : public Handling {
 public:
  explicit Records(BlockPool& pool) : pool_(pool) {}

  std::uint64_t capacity(std::uint64_t) const override { return sizeof(Record); }

  Result<BlockPtr> contribute(Piece& piece, bool) override {
    own(piece);
    BlockPtr message = pool_.take(sizeof(Record));
    message->frame.content = Content::record;
    message->frame.payload_bytes = sizeof(Record);
    store(record_, message->room());
    message->frame.has_checksum = true;
    message->frame.payload_checksum = checksum(message->payload());
    return message;
  }

  Status join(Piece& piece, BlockPtr received, bool is_lower, Next) override {
    own(piece);
    HOMZ_ASSIGN(Record other, read(*received));
    if (!is_lower) std::swap(other, record_);
    other.join(record_);
    record_ = other;
    return Status();
  }

  Status complete(Piece& piece, bool) override {
    own(piece);
    return Status();
  }

  Result<BlockPtr> deliver(Piece& piece) override { return contribute(piece, false); }

  Status take(Piece&, BlockPtr received, bool) override {
    HOMZ_ASSIGN(record_, read(*received));
    return Status();
  }

  Status write(Piece& piece) override {
    store(record_, piece.out);
    return Status();
  }

 private:
  void own(const Piece& piece) {
    if (!has_own_) record_ = load(piece.in);
    has_own_ = true;
  }

  static Result<Record> read(const Block& block) {
    if (block.frame.content == Content::record && block.frame.payload_bytes == sizeof(Record))
      return load(block.payload());
    return Status(Code::corrupt_stream, "a message of other content than a record");
  }

  BlockPool& pool_;
  Record record_;
  bool has_own_ = false;
};

}  // namespace

std::unique_ptr<Handling> record_handling(BlockPool& pool) {
  return std::make_unique<Records>(pool);
}

}  // namespace homz
