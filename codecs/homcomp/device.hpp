// Whole payloads of homcomp, on the device: the same bytes as engine.hpp makes on the host. Everything is
// enqueued on exec.stream; nothing is allocated, waited for or copied to the host, so all of it can be
// captured in a graph.
#pragma once

#include "codecs/homcomp/engine.hpp"

namespace homz::homcomp {

// As footprint(), with the device's scratch: at most 0.2 % of the data and 4 KiB.
Result<Footprint> device_footprint(const Encoding& encoding, const Plan& plan);

// All pointers are the device's. Data is aligned to its values (rows that begin on 16 bytes are read and
// written faster), payload, scratch and encoded to 8 bytes. Payload and scratch are as large as
// device_footprint() tells.
Status encode_on_device(const Encoding& encoding, const Plan& plan, ConstBytes data, Bytes payload,
                        Bytes scratch, Encoded* encoded, Exec exec);

// Payload has the size that the stream tells. Tables, groups and chunks are verified while they are decoded:
// what is wrong goes to *exec.fault, and some values may have been written by then. Damaged bytes never make
// a kernel leave the buffers.
Status decode_on_device(const Encoding& encoding, const Plan& plan, ConstBytes payload, Bytes data,
                        Bytes scratch, Exec exec);

}  // namespace homz::homcomp
