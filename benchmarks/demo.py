#!/usr/bin/env python3
"""The demonstration: compress real fields, decompress them, check every value, and print what a scientist asks.

usage: demo.py HOMZ FOLDER [REL]
"""
import json
import pathlib
import subprocess
import sys
import tempfile


def homz(*arguments):
    """Runs homz with --json and returns its report; ends the demonstration if homz fails."""
    done = subprocess.run([HOMZ, *map(str, arguments), '--json'], capture_output=True, text=True)
    if done.returncode not in (0, 1):
        sys.exit(done.stderr.strip())
    return json.loads(done.stdout)


def rows(source, folder):
    """One row a compressed dataset of `source`, after a full round trip through files."""
    packed, plain = folder / ('packed-' + source.name), folder / ('plain-' + source.name)
    homz('compress', source, packed, '--rel', REL)
    homz('decompress', packed, plain)
    described = {d['name']: d for d in homz('info', packed)['datasets']}
    verdict = homz('verify', source, plain, '--rel', REL)
    for dataset in verdict['datasets']:
        about = described.get(dataset['name'], {})
        if about.get('compressed'):
            yield dataset, about


def main():
    bad = count = original = stored = 0
    print(f'\nEvery value must return within {REL} of the value range (max - min) of its field.\n')
    print(f'{"field":44s} {"shape":>17s} {"type":>4s} {"ratio":>7s} {"bound":>10s} {"max error":>10s} {"PSNR dB":>8s}')
    with tempfile.TemporaryDirectory() as folder:
        for source in sorted(pathlib.Path(FIELDS).glob('*.*')):
            if source.suffix not in ('.h5', '.nc'):
                continue
            for dataset, about in rows(source, pathlib.Path(folder)):
                name = f'{source.stem}:{dataset["name"].split("/")[-1]}'
                shape = 'x'.join(map(str, about['shape']))
                psnr = dataset['psnr']
                error, bound = dataset['max_abs_error'], dataset['bound']
                count, original = count + 1, original + about['original_bytes']
                stored += about['stored_bytes']
                bad += not dataset['bound_ok']
                print(f'{name[:44]:44s} {shape:>17s} {about["type"][:3]:>4s} '
                      f'{about["original_bytes"] / about["stored_bytes"]:7.2f} {bound:10.3g} {error:10.3g} '
                      f'{psnr if isinstance(psnr, str) else "exact" if psnr is None else format(psnr, ".1f"):>8s} '
                      f'{"" if dataset["bound_ok"] else "BOUND BROKEN"}')
    kept = 'kept for every value of every field' if bad == 0 else f'BROKEN in {bad} fields'
    print(f'\n{count} fields, {original / 1e6:.1f} MB -> {stored / 1e6:.1f} MB: ratio {original / max(stored, 1):.1f}; '
          f'the bound is {kept}.')
    print('Ratio = original / compressed bytes.  PSNR = 20 log10(range / RMSE).  Try it: build/bin/homz --help')
    return bad != 0


HOMZ, FIELDS = sys.argv[1], sys.argv[2]
REL = sys.argv[3] if len(sys.argv) > 3 else '1e-3'
if __name__ == '__main__':
    sys.exit(main())
