import { expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import type { Http, HttpRequest } from 'vmchart/effects';
import { Session, VmchartError } from 'vmchart/effects';
import { manualClock } from 'vmchart/adapters';

const seed = Number(process.env['FC_SEED'] ?? 20_261_014);

type Side = 'stdout' | 'stderr';

interface Piece {
  readonly side: Side;
  readonly bytes: Uint8Array;
}

/** What the daemon sends from an offset on: the pieces cut to start there, keep-alives between, then the exit. */
function wireText(pieces: readonly Piece[], from: number, end: string): Buffer {
  let position = 0;
  let text = '';
  for (const { side, bytes } of pieces) {
    const start = position;
    position += bytes.length;
    if (position <= from) continue;
    const offset = Math.max(start, from);
    const output = Buffer.from(bytes.subarray(offset - start)).toString('base64');
    text += `event: output${end}data: ${JSON.stringify({ offset, stream: side, output })}${end}${end}:${end}${end}`;
  }
  const exit = { exit_code: 0, signal: null, timed_out: false, truncated: false, writers_may_be_alive: false };
  return Buffer.from(`${text}event: exit${end}data: ${JSON.stringify({ ...exit, offset: position })}${end}${end}`);
}

/** A daemon whose connections each break at a byte of their own, by an end or by an error, in chunks of any size. */
function brokenDaemon(
  pieces: readonly Piece[],
  breaks: readonly { readonly at: number; readonly how: 'end' | 'reset' | 'refuse' }[],
  chunkSizes: readonly number[],
  end: string,
): Http & { attaches: number[] } {
  const attaches: number[] = [];
  let connection = 0;
  return {
    attaches,
    send: () => Promise.reject(new Error('no plain request is expected')),
    async openStream(request: HttpRequest) {
      const from = Number(new URL(request.url).searchParams.get('offset'));
      const here = breaks[connection];
      connection += 1;
      if (here?.how === 'refuse') throw new VmchartError({ wireKind: 'Transport' }, 'refused', { reason: 'connect' });
      attaches.push(from);
      const whole = wireText(pieces, from, end);
      const sent = here === undefined ? whole : whole.subarray(0, here.at % whole.length);
      return {
        status: 200,
        headers: {},
        close: () => undefined,
        body: chunked(sent, chunkSizes, here?.how === 'reset'),
      };
    },
  };
}

async function* chunked(bytes: Buffer, sizes: readonly number[], reset: boolean): AsyncGenerator<Uint8Array> {
  for (let from = 0, index = 0; from < bytes.length; index += 1) {
    const size = sizes[index % sizes.length] ?? 1;
    yield bytes.subarray(from, from + size);
    from += size;
  }
  if (reset) throw new Error('ECONNRESET');
}

const piece = fc.record({
  side: fc.constantFrom<Side>('stdout', 'stderr'),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 40 }),
});
const cut = fc.record({ at: fc.nat({ max: 4_000 }), how: fc.constantFrom('end', 'reset', 'refuse') });
const lineEnd = fc.constantFrom('\n', '\r\n', '\r');

test('any output, cut at any bytes, with any pattern of reconnects, arrives byte for byte once', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { maxLength: 12 }),
      fc.array(cut, { maxLength: 20 }),
      fc.array(fc.integer({ min: 1, max: 200 }), { minLength: 1, maxLength: 5 }),
      lineEnd,
      fc.boolean(),
      async (pieces, breaks, chunkSizes, end, split) => {
        const http = brokenDaemon(pieces, breaks, chunkSizes, end);
        const clock = manualClock({ autoAdvance: true });
        const handle = Session.direct({ endpoint: 'http://vm.example', agentToken: 't', http, clock }).exec('e1');
        const arrived: Record<Side, Uint8Array[]> = { stdout: [], stderr: [] };
        if (split) {
          const sides = handle.split();
          const read = async (side: Side) => {
            for await (const bytes of sides[side]) arrived[side].push(bytes);
          };
          await Promise.all([read('stdout'), read('stderr')]);
        } else {
          let position = 0;
          for await (const event of handle.stream()) {
            if (event.type === 'gap') throw new Error('there was no gap');
            expect(event.offset).toBe(position);
            if (event.type === 'output') {
              arrived[event.stream].push(event.data);
              position += event.data.length;
            }
          }
        }
        for (const side of ['stdout', 'stderr'] as const) {
          const sent = pieces.filter((part) => part.side === side).map(({ bytes }) => bytes);
          expect(Buffer.concat(arrived[side])).toEqual(Buffer.concat(sent));
        }
        expect([...http.attaches].sort((left, right) => left - right)).toEqual(http.attaches);
      },
    ),
    { seed, numRuns: 300 },
  );
});
