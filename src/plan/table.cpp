#include "plan/table.h"

namespace openimb {

TableKind table_kind(const Spec& spec, Multi multi) {
  const bool synchronization = spec.kind == Kind::synchronization;
  if (spec.overlaps()) return synchronization ? TableKind::synchronization_overlap : TableKind::overlap;
  if (synchronization) return TableKind::synchronization;
  if (spec.in_rounds) return spec.message_rate ? TableKind::time_and_rate : TableKind::time_and_bandwidth;
  if (spec.labeled_rows) return TableKind::labeled;
  if (spec.sent > 0) return TableKind::mean_and_rate;
  if (spec.message_rate) return spec.threaded ? TableKind::time_and_rate : TableKind::rate;
  if (spec.one_sided.computing_target) return TableKind::passive;
  // Collectives on files, too, move data to or from somewhere.
  if ((spec.kind == Kind::collective && !spec.on_files()) || !spec.throughput) return TableKind::range;
  if (spec.kind != Kind::single_transfer && spec.kind != Kind::multiple_transfer) {
    return TableKind::range_and_bandwidth;
  }
  if (multi == Multi::summary) return TableKind::range_and_bandwidth;
  return TableKind::time_and_bandwidth;
}

}  // namespace openimb
