#!/usr/bin/env python3
"""Measures homz on this machine and writes one report, benchmarks/results/cpu.md (or --out FILE).

1. Whole files: `homz compress` of an HDF5 file against `h5repack` with gzip level 1, both from the page cache, in turn.
2. Codecs in memory on synthetic data: ratio, speed as a fraction of memcpy in the same run, error over bound.
3. Ratios alone, of the codecs and rows that published measurements of GPU compressors use.

usage: bench.py HOMZ [--out FILE] [--gib N] [--count N] [--repeat N] [--simd SET]
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

THREADS = 2
BOUNDS = (('--abs', '1e-4'), ('--rel', '1e-4'), ('--rel', '1e-3'), ('--rel', '1e-2'))
SPEED = ('normal', 'longwalk', 'waves')
RATIO = ('normal', 'walk', 'smooth')
CODECS = {'f32': ('homcomp', 'cuszp2:dim=1', 'cuszp'), 'f64': ('homcomp',)}


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def machine():
    cpu = next((line.split(':')[1].strip() for line in open('/proc/cpuinfo') if line.startswith('model name')), '?')
    commit = output_of('git', 'rev-parse', '--short', 'HEAD') + ('+' if output_of('git', 'status', '--porcelain') else '')
    return (f'{cpu}, {os.cpu_count()} cores; {output_of("c++", "--version").splitlines()[0]}; '
            f'Linux {os.uname().release}; commit {commit}; {time.strftime("%Y-%m-%d")}')


def write_file(path, gib):
    """A 3D f32 field of `gib` GiB: smooth waves and a little noise, contiguous."""
    import h5py
    import numpy
    random = numpy.random.default_rng(1)
    shape = (gib * 256, 1024, 1024)
    y, x = numpy.meshgrid(*[numpy.arange(1024, dtype='f4')] * 2, indexing='ij')
    noise = random.standard_normal((1024, 1024), dtype='f4') * numpy.float32(1e-3)
    with h5py.File(path, 'w') as file:
        field = file.create_dataset('field', shape, dtype='f4')
        for z in range(shape[0]):
            field[z] = numpy.sin(x * .031 + z * .01) * numpy.cos(y * .017) + numpy.roll(noise, z * 7)
    with open(path, 'rb') as file:  # into the page cache
        while file.read(1 << 24):
            pass


def seconds(command, output):
    pathlib.Path(output).unlink(missing_ok=True)
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def whole_files(homz, gib, repeat):
    with tempfile.TemporaryDirectory(dir='/var/tmp') as folder:
        source, out = f'{folder}/field.h5', f'{folder}/out.h5'
        write_file(source, gib)
        size = os.path.getsize(source)
        tools = {
            'h5repack, gzip level 1': ['h5repack', '-f', 'GZIP=1', '-l', 'CHUNK=1x1024x1024', source, out],
            'homz compress, homcomp': [homz, 'compress', source, out, '-c', 'homcomp', '--rel', '1e-3', '--threads',
                                      str(THREADS), '--force', '-q'],
        }
        times, ratio = {name: [] for name in tools}, {}
        for _ in range(repeat):
            for name, command in tools.items():
                times[name].append(seconds(command, out))
                ratio[name] = size / os.path.getsize(out)
    base = statistics.median(times['h5repack, gzip level 1'])
    yield f'| tool | seconds (median of {repeat}) | GB/s | ratio | times faster |'
    yield '|---|---:|---:|---:|---:|'
    for name, taken in times.items():
        middle = statistics.median(taken)
        yield f'| {name} | {middle:.1f} | {size / middle / 1e9:.3f} | {ratio[name]:.2f} | {base / middle:.1f} |'


def results_of(homz, data, count, bound, codecs, *more):
    chosen = [word for codec in codecs for word in ('-c', codec)]
    return json.loads(output_of(homz, 'bench', '--data', data, '--count', str(count), *bound, *chosen, '--json', *more))['results']


def codecs(homz, count):
    yield ('| data | type | bound | codec | threads | ratio | compress GB/s (of memcpy) | decompress GB/s (of memcpy) '
           '| largest error / bound |')
    yield '|---|---|---|---|---:|---:|---:|---:|---:|'
    for data in SPEED:
        for dtype, chosen in CODECS.items():
            for bound in BOUNDS:
                for r in results_of(homz, data, count, bound, chosen, '--type', dtype, '--threads', f'1,{THREADS}'):
                    share = [f'{r[k]:.2f} ({100 * r[k] / r["memcpy_gbps"]:.0f} %)'
                             for k in ('compress_gbps', 'decompress_gbps')]
                    yield (f'| {data} | {dtype} | {" ".join(bound)[2:]} | {r["codec"]} | {r["threads"]} | {r["ratio"]:.2f} | '
                           f'{share[0]} | {share[1]} | {r["max_abs_error"] / r["bound"]:.6f} |')


def ratios(homz, count):
    yield '| data | bound | homcomp | cuszp2, outlier | cuszp2, plain |'
    yield '|---|---|---:|---:|---:|'
    for data in RATIO:
        for bound in BOUNDS:
            done = results_of(homz, data, count, bound, ('homcomp', 'cuszp2:mode=outlier,dim=1', 'cuszp2:mode=plain,dim=1'),
                              '--threads', str(THREADS), '--repeat', '1')
            yield f'| {data} | {" ".join(bound)[2:]} | ' + ' | '.join(f'{r["ratio"]:.2f}' for r in done) + ' |'


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('homz')
    parser.add_argument('--out', default='benchmarks/results/cpu.md')
    parser.add_argument('--gib', type=int, default=2)
    parser.add_argument('--count', type=int, default=64000000)
    parser.add_argument('--simd', default='avx2', help='instruction set: scalar, avx2 or avx512')
    parser.add_argument('--repeat', type=int, default=3)
    options = parser.parse_args()
    os.environ['HOMZ_SIMD'] = options.simd
    lines = ['# homz on a CPU', '', f'`./run bench {" ".join(sys.argv[2:])}`'.replace(' `', '`'), '', machine(), '',
             f'## A {options.gib} GiB HDF5 file, {THREADS} threads, page cache', '']
    lines += whole_files(options.homz, options.gib, options.repeat)
    lines += ['', f'## Codecs in memory, {options.count} values, at most {options.simd}',
              '', 'GB/s = 1e9 bytes of uncompressed data a second, median of several runs; memcpy of the same buffer in '
              'the same run.', '']
    lines += codecs(options.homz, options.count)
    lines += ['', f'## Ratios, {options.count} f32 values', '']
    lines += ratios(options.homz, options.count)
    out = pathlib.Path(options.out)
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text('\n'.join(lines) + '\n')
    print('\n'.join(lines))


if __name__ == '__main__':
    main()
