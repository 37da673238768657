// Measures what a profile says: codecs and memory of this processor, links and calls over a transport.
#pragma once

#include <string>
#include <vector>

#include "collectives/profile.hpp"
#include "collectives/transport.hpp"

namespace homz {

struct TuneOptions {
  std::string machine;              // free text for the profile
  std::vector<std::string> codecs;  // as given to Registry::choose; none: the default codec
  double seconds_each = 0.02;       // spent on a number, about
  std::uint64_t most_native_bytes = std::uint64_t{64} << 20;
  std::uint64_t most_native_bytes_on_gpu = std::uint64_t{256} << 20;
};

// All of it. All ranks of the transport call this, at about the same time, and get the same profile: of
// what ranks do at once, the slowest counts. Links inside a node and between nodes as transport.nodes() has
// them; where there is one kind only, both are that.
Result<Profile> tune(Transport& transport, const TuneOptions& options);

// ---- Its parts; each sets some numbers of the profile

// Codecs, copying and adding: alone, without a transport.
Status tune_processor(const TuneOptions& options, Profile& profile);
// Latency, time of a byte, best segments.
Status tune_links(Transport& transport, const TuneOptions& options, Profile& profile);
// What a call and a message of ours take, beside the links, which must be known; their latency rises to what
// rounds of all ranks show. At least two ranks, else nothing changes.
Status tune_calls(Transport& transport, const TuneOptions& options, Profile& profile);
// The collectives that the transport has, from 4 bytes on.
Status tune_natives(Transport& transport, const TuneOptions& options, Profile& profile);
// All that is asked of GPUs, if each rank has one, its current: codecs, links, the transport's collectives,
// and what a call takes besides. After tune_links() and tune_calls().
Status tune_gpus(Transport& transport, const TuneOptions& options, Profile& profile);

}  // namespace homz
