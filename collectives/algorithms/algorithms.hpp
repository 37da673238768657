// Schedules of the algorithms. Parts are numbered by the rank that they are, or will be, of: the chunks of a
// vector in reductions and bcast, the ranks' data in allgather, gather and scatter; in alltoall, part s N + t
// goes from rank s to rank t. (1 part: the whole vector.)
#pragma once

#include "collectives/schedule.hpp"

namespace homz {

void append(Schedule& to, Schedule more);

// ---- Ring: each step sends to the next rank and receives from the one before.

Schedule ring_reduce_scatter(Place place);  // rank r ends with part r
Schedule ring_allgather(Place place);

// ---- Doubling and halving: partners at distances that are powers of two. Ranks beyond the largest power of
// two fold into a neighbour first and get the result last.

Schedule doubling_allreduce(Place place);  // of 1 part
Schedule doubling_allgather(Place place);  // N a power of two
Schedule halving_reduce_scatter(Place place);
Schedule halving_allreduce(Place place);  // Rabenseifner

// ---- Direct: everything to where it belongs, at once.

Schedule direct_reduce_scatter(Place place);
Schedule direct_allgather(Place place);
Schedule direct_scatter(Place place);
Schedule direct_gather(Place place);
Schedule direct_alltoall(Place place);

// ---- Binomial trees.

Schedule binomial_reduce(Place place);  // of 1 part
Schedule binomial_bcast(Place place);   // of 1 part
Schedule binomial_scatter(Place place);
Schedule binomial_gather(Place place);

// ---- Bruck: log2 N rounds of sets of parts.

Schedule bruck_allgather(Place place);
Schedule bruck_alltoall(Place place);

// The number of parts of an algorithm's schedule for a collective.
std::uint32_t parts_of(Collective collective, Algorithm algorithm, int ranks);
// Errors: unsupported, if the algorithm cannot do the collective.
Result<Schedule> schedule_of(Collective collective, Algorithm algorithm, Place place);

}  // namespace homz
