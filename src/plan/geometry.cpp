#include "plan/geometry.h"

#include <algorithm>
#include <limits>

#include "model/saturating.h"

namespace openimb {

namespace {

std::int64_t elements_held(const Spec& spec, Messages messages, std::int64_t elements, int processes,
                           std::int64_t received_at_once) {
  switch (messages) {
    case Messages::none:
      return 0;
    case Messages::one:
      return elements;
    case Messages::two:
      return times(2, elements);
    case Messages::in_flight:
      return times(received_at_once, elements);
    case Messages::per_rank:
      return times(processes, elements);
    case Messages::per_neighbor:
      return times(spec.topology.neighbors(processes), elements);
    case Messages::per_stencil:
      return times(spec.stencil.neighbors(), elements);
    case Messages::even_share:
    case Messages::block_share:
      return share(messages, elements, processes, 0);
  }
  return 0;
}

// Returns the bytes of memory that `elements` elements span, as whole messages of `per_message` elements.
std::int64_t spanned_bytes(std::int64_t elements, std::int64_t per_message, const Element& element) {
  if (!element.layout.has_gaps()) return times(elements, element.extent());
  if (per_message == 0) return 0;
  const Period period = element.layout.period();
  const std::int64_t periods = per_message / period.elements + (per_message % period.elements != 0 ? 1 : 0);
  return times(elements / per_message, periods, period.extent, element.extent());
}

}  // namespace

std::int64_t Geometry::total() const { return plus(send.total, receive.total); }

std::int64_t Geometry::receive_span(std::int64_t repetitions) const {
  return plus(times(repetitions - 1, receive.stride), receive.footprint);
}

void Capacity::cover(const Geometry& geometry) {
  send = std::max(send, geometry.send.total);
  receive = std::max(receive, geometry.receive.total);
}

bool Capacity::covers(const Geometry& geometry) const {
  return geometry.send.total <= send && geometry.receive.total <= receive;
}

std::int64_t share(Messages messages, std::int64_t elements, int processes, int rank) {
  const std::int64_t even = elements / processes;
  const std::int64_t rest = elements % processes;
  if (messages == Messages::block_share) return even + (rest > 0 ? 1 : 0);
  return even + (rank < rest ? 1 : 0);
}

namespace {

// Returns the largest value that an int argument must hold. Usually this is the count of one message. In
// vector collectives it is the last displacement, in a scattered reduction the sum of the counts, and for a
// file the share of one process.
std::int64_t largest_int_argument(const Spec& spec, std::int64_t elements, std::int64_t input, int processes,
                                  std::int64_t extent) {
  if (spec.uses_files()) return share(Messages::even_share, elements, processes, 0);
  if (spec.stencil.dimensions > 0) return elements;
  if (spec.topology.exists()) {
    const int last = spec.displacements == Displacements::elements ? spec.topology.neighbors(processes) : 1;
    return times(last, elements);
  }
  if (spec.displacements == Displacements::elements) return times(processes, elements);
  if (spec.displacements == Displacements::bytes) return times(processes, elements, extent);
  return std::max(input / std::max(1, processes), elements);
}

// Sets the number of slots and the distance between them: see plan_geometry().
void plan_slots(Geometry& geometry, const std::optional<OffCache>& cache) {
  geometry.slots = geometry.sections;
  BufferPlan* const buffers[] = {&geometry.send, &geometry.receive};
  const std::int64_t widest = std::max(geometry.send.footprint, geometry.receive.footprint);
  if (!cache || cache->cache_line <= 0 || widest == 0) {
    for (BufferPlan* buffer : buffers) buffer->stride = geometry.sections > 1 ? buffer->footprint : 0;
    return;
  }
  // A multiple of every element's extent, so that each slot is aligned for its type.
  constexpr std::int64_t alignment = 16;
  const std::int64_t line = rounded_up(cache->cache_line, alignment);
  for (BufferPlan* buffer : buffers) {
    if (buffer->footprint == 0) continue;
    // At least two full cache lines lie between two messages.
    buffer->stride = plus(rounded_up(buffer->footprint, line), 2 * line);
  }
  const std::int64_t stride = std::max(geometry.send.stride, geometry.receive.stride);
  const std::int64_t span = times(2, std::max(cache->cache_size, widest));
  geometry.slots =
      std::max({std::int64_t{2}, geometry.sections, span / stride + (span % stride != 0 ? 1 : 0)});
}

}  // namespace

Geometry plan_geometry(const Spec& spec, std::int64_t bytes, int processes, const Element& element,
                       const std::optional<OffCache>& cache, std::int64_t sections,
                       std::int64_t received_at_once) {
  Geometry geometry;
  geometry.elements = bytes / element.size();
  geometry.message_extent = spanned_bytes(geometry.elements, geometry.elements, element);
  // MPI_Reduce_scatter_block reduces `processes` blocks of equal length, which may exceed the message.
  const std::int64_t input =
      spec.receive == Messages::block_share
          ? times(processes, share(spec.receive, geometry.elements, processes, 0))
          : elements_held(spec, spec.send, geometry.elements, processes, received_at_once);
  geometry.send.footprint = spanned_bytes(input, geometry.elements, element);
  geometry.receive.footprint =
      spanned_bytes(elements_held(spec, spec.receive, geometry.elements, processes, received_at_once),
                    geometry.elements, element);

  geometry.exceeds_int = largest_int_argument(spec, geometry.elements, input, processes, element.extent()) >
                         std::numeric_limits<int>::max();

  geometry.sections = sections;
  plan_slots(geometry, cache);
  for (BufferPlan* const buffer : {&geometry.send, &geometry.receive}) {
    buffer->total = plus(times(geometry.slots - 1, buffer->stride), buffer->footprint);
  }
  return geometry;
}

}  // namespace openimb
