// Values in the memory of the host.
#include <algorithm>

#include "collectives/operate.hpp"
#include "collectives/processor.hpp"
#include "collectives/sample.hpp"

namespace homz {
namespace {

class HostProcessor final : public Processor {
 public:
  Space space() const noexcept override { return Space::host; }
  Exec exec(unsigned threads) noexcept override { return host(threads); }

  Result<Values> room(std::uint64_t bytes) override {
    const BlockPtr block = pool_.take(bytes);
    return Values{block->room().first(bytes), block};
  }
  Status copy(ConstBytes from, Bytes to) override {
    copy_values(from, to);
    return Status();
  }
  Status zero(Bytes values) override {
    std::ranges::fill(values, std::byte{0});
    return Status();
  }
  Status operate(ReduceOp op, Dtype dtype, ConstBytes left, ConstBytes right, Bytes to) override {
    homz::operate(op, dtype, left, right, to);
    return Status();
  }
  Status divide(Dtype dtype, Bytes values, int ranks) override {
    homz::divide(dtype, values, ranks);
    return Status();
  }
  Result<double> largest_magnitude(Dtype dtype, ConstBytes values) override {
    return homz::largest_magnitude(dtype, values);
  }

  Combined* report() override {
    report_ = Combined{};
    return &report_;
  }
  Result<Bytes> output(Block& message) override { return message.room(); }
  Result<ConstBytes> input(const Block& message) override { return message.payload(); }
  Result<Combined> take(Block&) override { return report_; }
  Status settle() override { return Status(); }

 private:
  BlockPool pool_;
  Combined report_;
};

}  // namespace

std::unique_ptr<Processor> host_processor() {
  return std::make_unique<HostProcessor>();
}

}  // namespace homz
