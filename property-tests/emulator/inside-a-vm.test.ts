/** Inside a VM, whatever the names, links, values, lines and sizes: the daemon and the VM's own programs agree. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { createByteRing } from '../../adapters/emulator/daemon/byte-ring.ts';
import { lineRange } from '../../adapters/emulator/daemon/line-range.ts';
import { normalise } from '../../adapters/emulator/daemon/tar-member.ts';
import { createProcessGuests } from '../../adapters/emulator/guest/index.ts';
import { startGuest } from '../../test/daemon/guest-harness.ts';
import type { Harness } from '../../test/daemon/guest-harness.ts';

const seed = Number(process.env['FC_SEED'] ?? 20_260_901);
const isolated = /own root/.test(createProcessGuests().notice);

(isolated ? describe : describe.skip)('with a VM', () => {
  let vm: Harness;
  beforeAll(async () => {
    vm = await startGuest();
  });
  afterAll(() => vm.close());
  const PATH = '/usr/bin:/bin';

  const name = fc.constantFrom('a', 'b', 'c', 'd');
  const target = fc
    .tuple(
      fc.boolean(),
      fc.array(fc.oneof({ weight: 3, arbitrary: name }, fc.constant('..'), fc.constant('.'), fc.constant('')), {
        minLength: 1,
        maxLength: 5,
      }),
    )
    .map(([absolute, parts]) => `${absolute ? '/workspace/t/' : ''}${parts.join('/')}` || '.');
  const entry = fc.record({
    path: fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join('/')),
    kind: fc.oneof(
      fc.constant('file'),
      fc.constant('dir'),
      target.map((to) => ({ to })),
    ),
  });

  test('a path leads the daemon where it leads a program of the VM', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(entry, { maxLength: 9 }),
        fc.array(target, { minLength: 12, maxLength: 12 }),
        async (entries, asked) => {
          const making = entries.map(({ path, kind }) => {
            if (kind === 'dir') return `mkdir -p '${path}'`;
            const parent = `mkdir -p "$(dirname '${path}')"`;
            return typeof kind === 'string'
              ? `${parent} && echo '${path}' > '${path}'`
              : `${parent} && ln -sn '${kind.to}' '${path}'`;
          });
          const reading = asked.map(
            (path) => `if [ -d '${path}' ]; then echo D; elif [ -f '${path}' ]; then cat '${path}'; else echo N; fi`,
          );
          const script = [
            'rm -rf /workspace/t; mkdir /workspace/t; cd /workspace/t',
            ...making.map((line) => `{ ${line}; } 2>/dev/null`),
            'cd /workspace/t',
            ...reading,
          ];
          const seen = String((await vm.run(script.join('\n'), { env: { PATH } }))['stdout'])
            .trimEnd()
            .split('\n');
          const told = await Promise.all(
            asked.map(async (path) => {
              const full = path.startsWith('/') ? path : `/workspace/t/${path}`;
              const { status, text } = await vm.call(`/v1/fs/file?path=${encodeURIComponent(full)}`);
              return status === 200 ? text.trimEnd() : status === 400 ? 'D' : 'N';
            }),
          );
          expect(told).toEqual(seen);
        },
      ),
      { seed, numRuns: 12 },
    );
  }, 120_000);

  test('any environment and any arguments reach a command as they were', async () => {
    const safe = fc.string({ unit: 'binary', maxLength: 12 }).map((text) => text.replaceAll('\0', ''));
    const names = safe.map((text) => text.replaceAll('=', '')).filter((text) => text !== '');
    await fc.assert(
      fc.asyncProperty(
        fc.dictionary(names, safe, { maxKeys: 8 }),
        fc.array(safe, { maxLength: 6 }),
        async (env, args) => {
          const clean = Object.fromEntries(Object.entries(env).filter(([key]) => !/^(PATH|LD_|LC_|LANG)/.test(key)));
          const shown = await vm.run('', { command: ['/usr/bin/env', '-0'], shell: false, env: clean });
          const pairs = String(shown['stdout']).split('\0').slice(0, -1);
          expect(pairs.sort()).toEqual(
            Object.entries(clean)
              .map((pair) => pair.join('='))
              .sort(),
          );
          const printed = await vm.run('', { command: ['/usr/bin/printf', String.raw`%s\0`, ...args], shell: false });
          expect(String(printed['stdout']).split('\0').slice(0, -1)).toEqual(args.length === 0 ? [''] : args);
        },
      ),
      { seed, numRuns: 15 },
    );
  }, 120_000);
});

test('any pieces, any range: lines are those of a plain split', async () => {
  const content = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(
      content,
      fc.array(fc.nat(60)),
      fc.integer({ min: 1, max: 12 }),
      fc.nat(12),
      async (text, cuts, first, more) => {
        const points = [0, ...cuts.filter((cut) => cut < text.length).sort((a, b) => a - b), text.length];
        const pieces = points.slice(1).map((end, index) => Buffer.from(text.slice(points[index], end)));
        async function* read(): AsyncGenerator<Buffer> {
          yield* pieces;
        }
        const got: Buffer[] = [];
        for await (const part of lineRange(read(), { first, last: first + more })) got.push(part);
        const lines = text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
        expect(Buffer.concat(got).toString()).toBe(lines.slice(first - 1, first + more).join(''));
      },
    ),
    { seed, numRuns: 500 },
  );
});

test('a ring gives back any of the newest bytes, however they were appended', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100_000 }),
      fc.array(fc.integer({ min: 1, max: 65_536 }), { maxLength: 12 }),
      fc.nat(),
      fc.nat(),
      (held, sizes, from, length) => {
        const ring = createByteRing(held, 65_536);
        let all = Buffer.alloc(0);
        for (const [index, size] of sizes.entries()) {
          const data = Buffer.from(Array.from({ length: size }, (_, at) => (at * 31 + index) & 0xff));
          ring.append(data);
          all = Buffer.concat([all, data]);
          const oldest = Math.max(0, all.length - held);
          const start = oldest + (from % (all.length - oldest + 1));
          const count = length % (all.length - start + 1);
          expect(ring.view(start, count).equals(all.subarray(start, start + count))).toBe(true);
        }
      },
    ),
    { seed, numRuns: 60 },
  );
});

test('a normalised member stays beneath its root and names the same place', () => {
  const path = fc.array(fc.constantFrom('a', 'b', '..', '.', ''), { maxLength: 8 }).map((parts) => parts.join('/'));
  fc.assert(
    fc.property(path, (text) => {
      // The plainest model: a stack, walked once.
      let depth = 0;
      let escapes = text.startsWith('/');
      for (const part of text.split('/')) {
        if (part === '..') depth -= 1;
        else if (part !== '' && part !== '.') depth += 1;
        if (depth < 0) escapes = true;
      }
      const parts = normalise(text);
      expect(parts === null).toBe(escapes);
      if (parts !== null) {
        expect(parts).toHaveLength(depth);
        expect(parts.some((part) => part === '..' || part === '.' || part === '')).toBe(false);
      }
    }),
    { seed, numRuns: 500 },
  );
});
