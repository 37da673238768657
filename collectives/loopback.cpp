#include "collectives/loopback.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

namespace homz {
namespace {

struct Letter {
  std::uint64_t group;
  int from, tag;
  std::vector<std::byte> bytes;
};

struct Mailbox {
  std::mutex guard;
  std::deque<Letter> letters;
};

struct Hub {
  explicit Hub(int ranks) : mailboxes(static_cast<std::size_t>(ranks)) {}
  std::vector<Mailbox> mailboxes;  // by the ranks of the whole
};

struct Posted {
  Bytes capacity;
  int from, tag;
  Pending* pending;
};

class Loopback final : public Transport {
 public:
  Loopback(std::shared_ptr<Hub> hub, std::uint64_t group, std::vector<int> members, std::vector<int> nodes,
           int rank)
      : hub_(std::move(hub)),
        group_(group),
        members_(std::move(members)),
        nodes_(std::move(nodes)),
        rank_(rank) {}

  int rank() const noexcept override { return rank_; }
  int size() const noexcept override { return static_cast<int>(members_.size()); }
  std::span<const int> nodes() const noexcept override { return nodes_; }

  Status send(ConstBytes bytes, std::shared_ptr<const void>, int to, int tag, Pending* pending) override {
    Mailbox& box = mailbox(to);
    const std::lock_guard lock(box.guard);
    box.letters.push_back({group_, rank_, tag, {bytes.begin(), bytes.end()}});
    pending->done = true;
    return Status();
  }

  Status receive(Bytes capacity, int from, int tag, Pending* pending) override {
    *pending = Pending{};
    posted_.push_back({capacity, from, tag, pending});
    return Status();
  }

  Status poll() override {
    Mailbox& box = mailbox(rank_);
    const std::lock_guard lock(box.guard);
    for (auto post = posted_.begin(); post != posted_.end();) {
      const auto letter = std::ranges::find_if(box.letters, [&](const Letter& l) {
        return l.group == group_ && l.tag == post->tag && (post->from == kAnyRank || l.from == post->from);
      });
      if (letter == box.letters.end()) {
        ++post;
        continue;
      }
      if (letter->bytes.size() > post->capacity.size())
        return Status(Code::internal, fmt::format("a message of {} bytes for a buffer of {}",
                                                  letter->bytes.size(), post->capacity.size()));
      std::ranges::copy(letter->bytes, post->capacity.begin());
      *post->pending = {true, letter->bytes.size(), letter->from};
      box.letters.erase(letter);
      post = posted_.erase(post);
    }
    return Status();
  }

  void yield() override { std::this_thread::yield(); }

  void abandon(Pending* pending) override {
    std::erase_if(posted_, [&](const Posted& post) { return post.pending == pending; });
  }

  Result<std::unique_ptr<Transport>> group(std::span<const int> ranks) override {
    std::vector<int> members, nodes;
    int rank = -1;
    std::uint64_t name = group_ * 0x9e3779b97f4a7c15u + 1;
    for (const int r : ranks) {
      if (r == rank_) rank = static_cast<int>(members.size());
      members.push_back(members_[static_cast<std::size_t>(r)]);
      nodes.push_back(nodes_[static_cast<std::size_t>(r)]);
      name = (name ^ static_cast<std::uint64_t>(members.back() + 1)) * 0x9e3779b97f4a7c15u;
    }
    if (rank < 0) return Status(Code::invalid_argument, "a group of ranks without this one");
    name += ++groups_[name];  // the same ranks may form several
    return std::unique_ptr<Transport>(new Loopback(hub_, name, std::move(members), std::move(nodes), rank));
  }

 private:
  Mailbox& mailbox(int rank) {
    return hub_->mailboxes[static_cast<std::size_t>(members_[static_cast<std::size_t>(rank)])];
  }

  std::shared_ptr<Hub> hub_;
  std::uint64_t group_;
  std::vector<int> members_, nodes_;
  int rank_;
  std::deque<Posted> posted_;
  std::map<std::uint64_t, std::uint64_t> groups_;
};

}  // namespace

std::vector<std::unique_ptr<Transport>> loopback(int ranks, int ranks_per_node) {
  const auto hub = std::make_shared<Hub>(ranks);
  std::vector<int> members, nodes;
  for (int r = 0; r < ranks; ++r) {
    members.push_back(r);
    nodes.push_back(r / std::max(1, ranks_per_node));
  }
  std::vector<std::unique_ptr<Transport>> transports;
  for (int r = 0; r < ranks; ++r) transports.push_back(std::make_unique<Loopback>(hub, 0, members, nodes, r));
  return transports;
}

}  // namespace homz
