import { expect, test } from '@jest/globals';
import { createParser } from 'eventsource-parser';
import * as fc from 'fast-check';
import { EventStreamParser, decodeExecEvent } from 'vmchart/effects';
import type { EventFrame } from 'vmchart/effects';

const seed = Number(process.env['FC_SEED'] ?? 20_261_014);
const runs = { seed, numRuns: 600 };

interface Read {
  readonly event: string | undefined;
  readonly id: string | undefined;
  readonly data: string;
}

/** What the well-known parser makes of the whole text. It holds a last CR back until more comes: LF ends that wait. */
function oracle(bytes: Uint8Array): Read[] {
  const events: Read[] = [];
  const parser = createParser({ onEvent: ({ event, id, data }) => void events.push({ event, id, data }) });
  // It looks for a byte order mark in bytes read as Latin-1; decoding takes it off already.
  const text = new TextDecoder('utf-8').decode(bytes);
  parser.feed(text.endsWith('\r') ? `${text}\n` : text);
  return events;
}

function ours(bytes: Uint8Array, cuts: readonly number[]): Read[] {
  const parser = new EventStreamParser();
  const frames: EventFrame[] = [];
  const edges = [0, ...[...cuts].map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  for (let index = 1; index < edges.length; index += 1)
    parser.push(bytes.slice(edges[index - 1], edges[index]), frames);
  return frames.map(({ event, id, data }) => ({ event, id, data: new TextDecoder().decode(data) }));
}

const lineEnd = fc.constantFrom('\n', '\r\n', '\r', '\n\n', '\r\n\r\n', '\r\r');
const line = fc.oneof(
  fc.constantFrom('', ':', ': keep-alive', 'data', 'event', 'id', 'retry', 'data:', 'data: ', 'retry: 7', 'id: a\0b'),
  fc
    .tuple(
      fc.constantFrom('data: ', 'data:', 'event: ', 'event:', 'id: ', 'retry: ', 'foo: ', ' data: '),
      fc.string({ unit: 'grapheme' }),
    )
    .map(([field, value]) => field + value.replaceAll(/[\r\n]/g, ' ')),
  fc.string({ unit: 'binary-ascii' }),
);
const stream = fc
  .tuple(fc.boolean(), fc.array(fc.tuple(line, lineEnd).map(([text, end]) => text + end)), fc.string())
  .map(([mark, lines, rest]) => Buffer.from(`${mark ? '\ufeff' : ''}${lines.join('')}${rest}`, 'utf8'));
const cuts = fc.array(fc.nat(), { maxLength: 12 });

test('any event stream in any split reads as eventsource-parser reads the whole of it', () => {
  fc.assert(
    fc.property(stream, cuts, (bytes, where) => {
      expect(ours(bytes, where)).toEqual(oracle(bytes));
    }),
    runs,
  );
});

test('byte by byte reads the same as at once', () => {
  fc.assert(
    fc.property(stream, (bytes) => {
      expect(ours(bytes, [...bytes.keys()])).toEqual(ours(bytes, []));
    }),
    { seed, numRuns: 200 },
  );
});

test('an output decodes the same whether it is written as the daemon writes it or in another JSON', () => {
  fc.assert(
    fc.property(
      fc.nat(),
      fc.constantFrom('stdout', 'stderr'),
      fc.uint8Array({ maxLength: 100 }),
      (offset, side, bytes) => {
        const output = Buffer.from(bytes).toString('base64');
        const frame = (json: string) => ({ event: 'output', id: undefined, data: Buffer.from(json) });
        const asWritten = decodeExecEvent(frame(JSON.stringify({ offset, stream: side, output })));
        const reordered = decodeExecEvent(frame(JSON.stringify({ more: 1, output, stream: side, offset }, null, 1)));
        const plain = (event: typeof asWritten) =>
          event?.type === 'output' ? { ...event, data: [...event.data] } : event;
        expect(plain(asWritten)).toEqual({ type: 'output', offset, stream: side, data: [...bytes] });
        expect(plain(reordered)).toEqual(plain(asWritten));
      },
    ),
    runs,
  );
});

test('base64 that is not what an encoder writes is refused in both forms', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom('A', 'Q', '/', '+', '=', '-', '_', ' ', '\n') }), (output) => {
      const canonical = Buffer.from(output, 'base64').toString('base64') === output;
      const decode = (json: string) => () =>
        decodeExecEvent({ event: 'output', id: undefined, data: Buffer.from(json) });
      for (const body of [
        { offset: 3, stream: 'stdout', output },
        { output, stream: 'stdout', offset: 3 },
      ]) {
        if (canonical) expect(decode(JSON.stringify(body))()).not.toBeNull();
        else expect(decode(JSON.stringify(body))).toThrow(/offset 3/);
      }
    }),
    runs,
  );
});
