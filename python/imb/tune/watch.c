// Preloaded into ranks: records what each collective call executes, by collective, ranks and length in bytes
// as IMB counts it. Each rank writes a file into the folder $OPENIMB_WATCH at MPI_Finalize. Needs no mpi.h:
// OPEN_MPI_ABI chooses the kind of handles. FUNCTIONS is a file of lines WATCH(function, label, collective):
// algorithms. `a>b`: a left the call to b, of the same collective; `a/c`: a called c, of another one or, in
// parts of the communicator, of the same. WATCH_SENDS: counts messages that are passed to UCX; WATCH_SOCKETS:
// those to sockets, of libfabric's provider tcp.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef OPEN_MPI_ABI
typedef void* Handle;
#define IN_PLACE ((const void*)1)
#else
typedef int Handle;
#define IN_PLACE ((const void*)-1)
#endif
#ifndef PLUGIN
#define PLUGIN ""
#endif

struct Row {
  const char* collective;
  int ranks, in_place;
  long long bytes, calls;
  char executed[240];
};

static struct Row rows[8192];
static int count, lost;
static int calls;      // of MPI that are in progress, one within the other
static int depth;      // of algorithms that are in progress
static int replacing;  // how many of them passed the call on to the next
// The collective of the outermost algorithm; empty: it works on parts of the communicator.
static const char* outermost;
static long long sends, sent;
static unsigned pattern;  // sum over messages, in any order, of a hash of receiver and length
static char executed[240];

static void* next_of(const char* name) {
  void* address = dlsym(RTLD_NEXT, name);
  if (!address && PLUGIN[0]) {  // in a component that the MPI loads with symbols of its own
    void* plugin = dlopen(PLUGIN, RTLD_LAZY | RTLD_NOLOAD);
    if (plugin) address = dlsym(plugin, name);
  }
  if (!address) {
    fprintf(stderr, "openimb: %s: no such function of the MPI to call\n", name);
    abort();
  }
  return address;
}

static void append(char sign, const char* label) {
  char part[sizeof executed];
  const int length = snprintf(part, sizeof part, "%c%s", sign, label);
  for (const char* at = executed; (at = strstr(at, part)); ++at) {  // it is there already
    if (!at[length] || strchr("+>/", at[length])) return;
  }
  const size_t used = strlen(executed);
  snprintf(executed + used, sizeof executed - used, "%s", part);
}

static void algorithm_begins(const char* label, const char* collective) {
  if (calls) {
    if (depth == 0) {
      append('+', label);
      outermost = strncmp(label, "han_", 4) ? collective : "";
      replacing = 1;
    } else if (depth == replacing && strcmp(collective, outermost) == 0) {
      append('>', label);
      ++replacing;
    } else if (depth == replacing) {
      append('/', label);
    }
  }
  ++depth;
}

static void algorithm_ends(void) { --depth; }

#define LONGS(f) \
  f(0), f(1), f(2), f(3), f(4), f(5), f(6), f(7), f(8), f(9), f(10), f(11), f(12), f(13), f(14), f(15)
#define DECLARED(n) long a##n
#define PASSED(n) a##n
// All arguments are integers and pointers, at most 16: a copy of as many words passes them on.
#define WATCH(function, label, collective)                           \
  long function(LONGS(DECLARED)) {                                   \
    static long (*next)(LONGS(DECLARED));                            \
    if (!next) next = (long (*)(LONGS(DECLARED)))next_of(#function); \
    algorithm_begins(label, collective);                             \
    long result = next(LONGS(PASSED));                               \
    algorithm_ends();                                                \
    return result;                                                   \
  }
#ifdef FUNCTIONS
#include FUNCTIONS
#endif

#if defined(WATCH_SENDS) || defined(WATCH_SOCKETS)
static unsigned hash_of(unsigned long long receiver, unsigned long long length) {
  unsigned long long mixed = (receiver + 1) * 0x9E3779B97F4A7C15ULL + length * 0xC2B2AE3D27D4EB4FULL;
  mixed = (mixed ^ (mixed >> 29)) * 0xBF58476D1CE4E5B9ULL;
  return (unsigned)(mixed >> 32);
}
#endif

#ifdef WATCH_SOCKETS
static void passed(long length) {
  if (calls && length > 0) {
    ++sends;
    sent += length;
    pattern += hash_of(0, (unsigned long long)length);
  }
}
ssize_t send(int socket, const void* data, size_t length, int flags) {
  static ssize_t (*next)(int, const void*, size_t, int);
  if (!next) next = (ssize_t (*)(int, const void*, size_t, int))next_of("send");
  const ssize_t result = next(socket, data, length, flags);
  passed((long)result);
  return result;
}
ssize_t sendmsg(int socket, const void* message, int flags) {
  static ssize_t (*next)(int, const void*, int);
  if (!next) next = (ssize_t (*)(int, const void*, int))next_of("sendmsg");
  const ssize_t result = next(socket, message, flags);
  passed((long)result);
  return result;
}
#endif

#ifdef WATCH_SENDS
static void* endpoints[65536];  // in the order of their creation, which is that of ranks
static int endpoint_count;

int ucp_ep_create(void* worker, const void* params, void** ep) {
  static int (*next)(void*, const void*, void**);
  if (!next) next = (int (*)(void*, const void*, void**))next_of("ucp_ep_create");
  const int status = next(worker, params, ep);
  if (status == 0 && endpoint_count < (int)(sizeof endpoints / sizeof *endpoints))
    endpoints[endpoint_count++] = *ep;
  return status;
}

void* ucp_tag_send_nbx(void* ep, const void* buffer, size_t length, unsigned long long tag,
                       const void* param) {
  static void* (*next)(void*, const void*, size_t, unsigned long long, const void*);
  if (!next)
    next =
        (void* (*)(void*, const void*, size_t, unsigned long long, const void*))next_of("ucp_tag_send_nbx");
  if (calls) {
    ++sends;
    sent += (long long)length;
    int receiver = 0;
    while (receiver < endpoint_count && endpoints[receiver] != ep) ++receiver;
    pattern += hash_of((unsigned long long)receiver, length);
  }
  return next(ep, buffer, length, tag, param);
}
#endif

static int size_of(Handle type) {
  static int (*ask)(Handle, int*);
  int size = 0;
  if (!ask) ask = (int (*)(Handle, int*))next_of("PMPI_Type_size");
  return ask(type, &size) ? 0 : size;
}

static int ranks_of(Handle comm) {
  static int (*ask)(Handle, int*);
  int ranks = 0;
  if (!ask) ask = (int (*)(Handle, int*))next_of("PMPI_Comm_size");
  return ask(comm, &ranks) ? 0 : ranks;
}

static int rank_in(Handle comm) {
  static int (*ask)(Handle, int*);
  int rank = -1;
  if (!ask) ask = (int (*)(Handle, int*))next_of("PMPI_Comm_rank");
  return ask(comm, &rank) ? -1 : rank;
}

static void call_begins(void) {
  if (calls++) return;
  executed[0] = 0;
  depth = 0;
  sends = sent = 0;
  pattern = 0;
}

static void call_ends(const char* collective, int ranks, long long bytes, int in_place) {
  if (--calls) return;
#if defined(WATCH_SENDS) || defined(WATCH_SOCKETS)
  snprintf(executed, sizeof executed, "%lld-messages-of-%lld-bytes-(%08x)", sends, sent, pattern);
#endif
  const char* shown = executed[0] == '+' ? executed + 1 : executed;
  if (!executed[0]) shown = "unknown";
  for (int i = 0; i < count; ++i) {
    struct Row* row = &rows[i];
    if (row->bytes == bytes && row->ranks == ranks && row->in_place == in_place &&
        strcmp(row->collective, collective) == 0 && strcmp(row->executed, shown) == 0) {
      ++row->calls;
      return;
    }
  }
  if (count == sizeof rows / sizeof *rows) {
    ++lost;
    return;
  }
  struct Row* row = &rows[count++];
  *row = (struct Row){
      .collective = collective, .ranks = ranks, .in_place = in_place, .bytes = bytes, .calls = 1};
  strcpy(row->executed, shown);
}

// An MPI call: its name, its parameters, its arguments, the communicator, the length and whether it is in
// place.
#define CALL(name, parameters, arguments, comm, length, in_place) \
  int MPI_##name parameters {                                     \
    static int(*next) parameters;                                 \
    if (!next) next = (int(*) parameters)next_of("PMPI_" #name);  \
    const int ranks = ranks_of(comm);                             \
    const long long bytes = (length);                             \
    call_begins();                                                \
    const int result = next arguments;                            \
    call_ends(#name, ranks, bytes, (in_place));                   \
    return result;                                                \
  }

static long long sum(const int* counts, int ranks) {
  long long total = 0;
  for (int i = 0; i < ranks; ++i) total += counts[i];
  return total;
}

typedef const void* In;
typedef void* Out;
typedef const int* Counts;

CALL(Barrier, (Handle c), (c), c, 0, 0)
CALL(Bcast, (Out b, int n, Handle t, int root, Handle c), (b, n, t, root, c), c, (long long)n* size_of(t), 0)
CALL(Allreduce, (In s, Out r, int n, Handle t, Handle op, Handle c), (s, r, n, t, op, c), c,
     (long long)n* size_of(t), s == IN_PLACE)
CALL(Reduce, (In s, Out r, int n, Handle t, Handle op, int root, Handle c), (s, r, n, t, op, root, c), c,
     (long long)n* size_of(t), s == IN_PLACE)
CALL(Scan, (In s, Out r, int n, Handle t, Handle op, Handle c), (s, r, n, t, op, c), c,
     (long long)n* size_of(t), s == IN_PLACE)
CALL(Exscan, (In s, Out r, int n, Handle t, Handle op, Handle c), (s, r, n, t, op, c), c,
     (long long)n* size_of(t), s == IN_PLACE)
CALL(Reduce_scatter, (In s, Out r, Counts n, Handle t, Handle op, Handle c), (s, r, n, t, op, c), c,
     sum(n, ranks) * size_of(t), s == IN_PLACE)
CALL(Reduce_scatter_block, (In s, Out r, int n, Handle t, Handle op, Handle c), (s, r, n, t, op, c), c,
     (long long)n * ranks * size_of(t), s == IN_PLACE)
CALL(Allgather, (In s, int sn, Handle st, Out r, int rn, Handle rt, Handle c), (s, sn, st, r, rn, rt, c), c,
     (long long)rn* size_of(rt), s == IN_PLACE)
CALL(Allgatherv, (In s, int sn, Handle st, Out r, Counts rn, Counts at, Handle rt, Handle c),
     (s, sn, st, r, rn, at, rt, c), c, sum(rn, ranks) * size_of(rt) / (ranks ? ranks : 1), s == IN_PLACE)
CALL(Alltoall, (In s, int sn, Handle st, Out r, int rn, Handle rt, Handle c), (s, sn, st, r, rn, rt, c), c,
     (long long)rn* size_of(rt), s == IN_PLACE)
CALL(Alltoallv, (In s, Counts sn, Counts sat, Handle st, Out r, Counts rn, Counts rat, Handle rt, Handle c),
     (s, sn, sat, st, r, rn, rat, rt, c), c, sum(rn, ranks) * size_of(rt) / (ranks ? ranks : 1),
     s == IN_PLACE)
CALL(Gather, (In s, int sn, Handle st, Out r, int rn, Handle rt, int root, Handle c),
     (s, sn, st, r, rn, rt, root, c), c,
     rank_in(c) == root ? (long long)rn * size_of(rt) : (long long)sn * size_of(st), s == IN_PLACE)
CALL(Scatter, (In s, int sn, Handle st, Out r, int rn, Handle rt, int root, Handle c),
     (s, sn, st, r, rn, rt, root, c), c,
     rank_in(c) == root ? (long long)sn * size_of(st) : (long long)rn * size_of(rt), r == IN_PLACE)

#ifdef OPEN_MPI_ABI
#define WORLD ((Handle)dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"))
#else
#define WORLD ((Handle)0x44000000)
#endif

int MPI_Finalize(void) {
  static int (*next)(void);
  const char* folder = getenv("OPENIMB_WATCH");
  if (folder) {
    char host[128] = "", path[4096];
    gethostname(host, sizeof host - 1);
    snprintf(path, sizeof path, "%s/%s-%ld", folder, host, (long)getpid());
    FILE* file = fopen(path, "w");
    if (!file) {
      fprintf(stderr, "openimb: cannot write %s\n", path);
    } else {
      fprintf(file, "rank %d of %d lost %d\n", rank_in(WORLD), ranks_of(WORLD), lost);
      for (int i = 0; i < count; ++i) {
        const struct Row* row = &rows[i];
        fprintf(file, "%s %d %lld %d %s %lld\n", row->collective, row->ranks, row->bytes, row->in_place,
                row->executed, row->calls);
      }
      fprintf(file, "end\n");
      fclose(file);
    }
  }
  if (!next) next = (int (*)(void))next_of("PMPI_Finalize");
  return next();
}
