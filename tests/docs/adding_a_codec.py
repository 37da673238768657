#!/usr/bin/env python3
"""Follows docs/adding_a_codec.md to the letter in a copy of the sources, then runs the conformance tests on the result.

usage: adding_a_codec.py SOURCE WORK
"""
import pathlib
import re
import shutil
import subprocess
import sys


def replace_once(path, old, new):
    text = path.read_text()
    assert text.count(old) == 1, f'{path}: expected one {old!r}'
    write_if_changed(path, text.replace(old, new))


def write_if_changed(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def follow_the_page(source, copy):
    page = (source / 'docs/adding_a_codec.md').read_text()
    files = re.findall(r'^```\w+ file=(\S+)\n(.*?)^```$', page, re.MULTILINE | re.DOTALL)
    assert len(files) == 3, 'the page shows a header, a source and a specification'
    for name, text in files:
        write_if_changed(copy / name, text)
    table = copy / 'codecs/builtin.cpp'
    replace_once(table, '#include "codecs/zstd/zstd_codec.hpp"',
                 '#include "codecs/narrow/narrow_codec.hpp"\n#include "codecs/zstd/zstd_codec.hpp"')
    replace_once(table, 'identity_codec(),', 'identity_codec(), narrow_codec(),')
    replace_once(copy / 'codecs/CMakeLists.txt', '    zstd/zstd_codec.cpp',
                 '    narrow/narrow_codec.cpp\n    zstd/zstd_codec.cpp')


def main():
    source, work = map(pathlib.Path, sys.argv[1:])
    copy, build = work / 'source', work / 'build'
    shutil.rmtree(work, ignore_errors=True)
    skip = shutil.ignore_patterns('build*', '.git', 'results')
    shutil.copytree(source, copy, ignore=skip)
    follow_the_page(source, copy)
    subprocess.run(['cmake', '-S', copy, '-B', build, '-G', 'Ninja', '-DHOMZ_WERROR=ON', '-DCMAKE_BUILD_TYPE=Release',
                    '-DHOMZ_TOOLS=OFF'], check=True, stdout=subprocess.DEVNULL)
    subprocess.run(['cmake', '--build', build, '--target', 'test_conformance'], check=True)
    test = next(build.rglob('test_conformance'))
    listed = subprocess.run([test, '--gtest_list_tests', '--gtest_filter=*narrow*'], check=True, capture_output=True,
                            text=True).stdout
    assert 'narrow' in listed, 'the conformance suite did not enrol the new codec by itself'
    subprocess.run([test, '--gtest_filter=*narrow*', '--gtest_brief=1'], check=True)


if __name__ == '__main__':
    main()
