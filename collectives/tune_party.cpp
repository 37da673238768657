#include "collectives/tune_party.hpp"

#include <numeric>

namespace homz {
namespace {

constexpr int kTag = 1;

// Gives up what is not done when it goes.
class Outstanding {
 public:
  Outstanding(Transport& transport, std::size_t count) : transport_(transport), all_(count) {}
  ~Outstanding() {
    for (std::size_t i = 0; i < started_; ++i)
      if (!all_[i].done) transport_.abandon(&all_[i]);
  }
  Outstanding(const Outstanding&) = delete;
  Outstanding& operator=(const Outstanding&) = delete;

  Pending* next() { return &all_[started_++]; }
  Status wait() {
    while (true) {
      HOMZ_TRY(transport_.poll());
      if (std::all_of(all_.begin(), all_.end(), [](const Pending& each) { return each.done; }))
        return Status();
      transport_.yield();
    }
  }

 private:
  Transport& transport_;
  std::vector<Pending> all_;
  std::size_t started_ = 0;
};

template <class B, class F>
Status each_segment(B bytes, std::uint64_t segment, F&& f) {
  for (std::uint64_t first = 0; first < bytes.size(); first += segment)
    HOMZ_TRY(f(bytes.subspan(first, std::min<std::uint64_t>(segment, bytes.size() - first))));
  return Status();
}

}  // namespace

Result<std::unique_ptr<Transport>> group_of_all(Transport& transport) {
  std::vector<int> ranks(static_cast<std::size_t>(transport.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return transport.group(ranks);
}

Status Party::move(int peer, ConstBytes out, Bytes in, std::uint64_t segment) {
  segment = std::max<std::uint64_t>(segment, 1);
  const auto segments = [&](std::uint64_t bytes) { return (bytes + segment - 1) / segment; };
  Outstanding outstanding(transport_, segments(out.size()) + segments(in.size()));
  HOMZ_TRY(each_segment(
      in, segment, [&](Bytes part) { return transport_.receive(part, peer, kTag, outstanding.next()); }));
  HOMZ_TRY(each_segment(out, segment, [&](ConstBytes part) {
    return transport_.send(part, nullptr, peer, kTag, outstanding.next());
  }));
  return outstanding.wait();
}

Status Party::exchange_on_gpus(int peer, ConstBytes out, Bytes in, std::size_t messages) {
  Outstanding outstanding(transport_, 2 * messages);
  for (std::size_t i = 0; i < messages; ++i) {
    HOMZ_TRY(transport_.receive_device(in, peer, kTag, outstanding.next()));
    HOMZ_TRY(transport_.send_device(out, nullptr, peer, kTag, outstanding.next()));
  }
  return outstanding.wait();
}

Status Party::barrier() {
  double nothing = 0;
  return slowest({&nothing, 1});
}

Status Party::slowest(std::span<double> numbers) {
  std::vector<double> others(numbers.size());
  if (rank() != 0) {
    HOMZ_TRY(send(std::as_bytes(numbers), 0));
    return receive(std::as_writable_bytes(numbers), 0);
  }
  for (int from = 1; from < size(); ++from) {
    HOMZ_TRY(receive(std::as_writable_bytes(std::span(others)), from));
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::max(numbers[i], others[i]);
  }
  for (int to = 1; to < size(); ++to) HOMZ_TRY(send(std::as_bytes(numbers), to));
  return Status();
}

}  // namespace homz
