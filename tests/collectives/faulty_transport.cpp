#include "tests/collectives/faulty_transport.hpp"

#include <algorithm>
#include <deque>

namespace homz::test {
namespace {

class Faulty final : public Transport {
 public:
  Faulty(std::unique_ptr<Transport> inner, Faults& faults)
      : inner_(std::move(inner)),
        faults_(faults),
        state_(faults.seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(inner_->rank()) * 1000003u +
               1) {}

  int rank() const noexcept override { return inner_->rank(); }
  int size() const noexcept override { return inner_->size(); }
  std::span<const int> nodes() const noexcept override { return inner_->nodes(); }

  Status send(ConstBytes bytes, std::shared_ptr<const void>, int to, int tag, Pending* pending) override {
    Letter letter{{bytes.begin(), bytes.end()}, to, tag, 0, nullptr};
    const Fault fault = next_fault();
    if (fault == Fault::drop) {
      pending->done = true;
      return Status();
    }
    if (fault == Fault::truncate) letter.bytes.resize(random() % std::max<std::size_t>(bytes.size(), 1));
    if (fault == Fault::flip && !letter.bytes.empty())
      letter.bytes[random() % letter.bytes.size()] ^= static_cast<std::byte>(1u << random() % 8);
    if (fault == Fault::delay) letter.polls = 1 + random() % 4;
    if (fault == Fault::duplicate) HOMZ_TRY(post(letter));
    letter.pending = pending;
    return post(std::move(letter));
  }

  Status receive(Bytes capacity, int from, int tag, Pending* pending) override {
    return inner_->receive(capacity, from, tag, pending);
  }

  Status poll() override {
    for (auto letter = late_.begin(); letter != late_.end();) {
      letter->polls -= letter->polls > 0 ? 1 : 0;
      const bool is_first =
          std::none_of(late_.begin(), letter, [&](const Letter& l) { return l.meets(*letter); });
      if (letter->polls > 0 || !is_first) {
        ++letter;
        continue;
      }
      HOMZ_TRY(pass_on(*letter));
      letter = late_.erase(letter);
    }
    return inner_->poll();
  }

  void yield() override { inner_->yield(); }
  void abandon(Pending* pending) override {
    std::erase_if(late_, [&](const Letter& letter) { return letter.pending == pending; });
    inner_->abandon(pending);
  }

  Result<std::unique_ptr<Transport>> group(std::span<const int> ranks) override {
    HOMZ_ASSIGN(auto inner, inner_->group(ranks));
    return std::unique_ptr<Transport>(new Faulty(std::move(inner), faults_));
  }

 private:
  struct Letter {
    std::vector<std::byte> bytes;
    int to, tag;
    std::uint64_t polls;  // to wait for
    Pending* pending;     // of the sender, or null
    bool meets(const Letter& other) const { return to == other.to && tag == other.tag; }
  };

  std::uint64_t random() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return state_ >> 33;
  }

  Fault next_fault() {
    if (!faults_.is_on || count_ == faults_.most) return Fault::none;
    if (static_cast<double>(random() % 1000) >= 1000 * faults_.share) return Fault::none;
    ++count_;
    ++faults_.happened;
    return faults_.fault;
  }

  Status post(Letter letter) {
    const bool waits = std::ranges::any_of(late_, [&](const Letter& l) { return l.meets(letter); });
    if (!waits && letter.polls == 0) return pass_on(letter);
    late_.push_back(std::move(letter));
    return Status();
  }

  Status pass_on(const Letter& letter) {
    Pending pending;
    return inner_->send(letter.bytes, nullptr, letter.to, letter.tag,  // loopback copies
                        letter.pending != nullptr ? letter.pending : &pending);
  }

  std::unique_ptr<Transport> inner_;
  Faults& faults_;
  std::uint64_t state_, count_ = 0;
  std::deque<Letter> late_;
};

}  // namespace

std::string_view to_string(Fault fault) {
  constexpr std::string_view kNames[] = {"none", "flip", "truncate", "drop", "duplicate", "delay"};
  return kNames[static_cast<std::size_t>(fault)];
}

Transports faulty(Transports transports, Faults& faults) {
  for (auto& transport : transports) transport = std::make_unique<Faulty>(std::move(transport), faults);
  return transports;
}

}  // namespace homz::test
