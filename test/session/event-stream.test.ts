import { describe, expect, test } from '@jest/globals';
import { EventStreamParser } from 'vmchart/effects';
import type { EventFrame } from 'vmchart/effects';

interface Read {
  readonly event?: string | undefined;
  readonly id?: string | undefined;
  readonly data: string;
}

function read(parser: EventStreamParser, ...chunks: (string | Uint8Array)[]): Read[] {
  const frames: EventFrame[] = [];
  for (const chunk of chunks) parser.push(typeof chunk === 'string' ? Buffer.from(chunk) : chunk, frames);
  return frames.map(({ event, id, data }) => ({ event, id, data: Buffer.from(data).toString('utf8') }));
}

function dataOf(text: string, cuts: readonly number[] = []): string[] {
  const bytes = Buffer.from(text);
  const edges = [0, ...cuts, bytes.length];
  const chunks = edges.slice(1).map((edge, index) => bytes.subarray(edges[index], edge));
  return read(new EventStreamParser(), ...chunks).map(({ data }) => data);
}

describe('framing', () => {
  test.each(['\n\n', '\r\n\r\n', '\r\r'])('SSE-01 a frame ended by %j and split anywhere is one frame', (end) => {
    const bytes = Buffer.from(`event: output\rdata: {"a":"ü"}${end}`.replace('\r', end.slice(0, end.length / 2)));
    for (let cut = 0; cut <= bytes.length; cut += 1) {
      const parser = new EventStreamParser();
      const frames = read(parser, bytes.subarray(0, cut), bytes.subarray(cut));
      expect([cut, frames, parser.pendingBytes]).toEqual([
        cut,
        [{ event: 'output', id: undefined, data: '{"a":"ü"}' }],
        0,
      ]);
    }
    const parser = new EventStreamParser();
    expect(read(parser, ...[...bytes].map((byte) => Uint8Array.of(byte))).length).toBe(1);
    expect(parser.pendingBytes).toBe(0);
  });

  test('SSE-02 a stream without an end is refused at its ceiling, and what it held is dropped', () => {
    const parser = new EventStreamParser();
    const frames: EventFrame[] = [];
    const half = new Uint8Array(2 * 1024 * 1024).fill(120);
    parser.push(half, frames);
    parser.push(half, frames);
    let error: unknown;
    try {
      parser.push(Uint8Array.of(120), frames);
    } catch (thrown) {
      error = thrown;
    }
    expect(error).toMatchObject({ kind: 'Protocol', retryable: false, wireKind: null, reason: 'sse-limit' });
    expect(String(error)).toMatch(/4194304.*no frame terminator/);
    expect([frames, parser.pendingBytes]).toEqual([[], 0]);
  });

  test('FC-083 every cut of a text with mixed line ends reads the same', () => {
    const text = 'data: A\r\ndata: B\r\n\r\ndata: C\n\n';
    for (let cut = 0; cut <= text.length; cut += 1) expect(dataOf(text, [cut])).toEqual(['A\nB', 'C']);
    expect(dataOf(text, [...Array(text.length).keys()])).toEqual(['A\nB', 'C']);
    expect(
      read(new EventStreamParser(), 'data: A\r\n', 'data: B\r', '\ndata: C\r\n', '\r\n').map((f) => f.data),
    ).toEqual(['A\nB\nC']);
  });

  test('FC-085 the whole grammar', () => {
    expect(dataOf('data:x\ndata: y\ndata:  z\n\n')).toEqual(['x\ny\n z']);
    expect(dataOf('data: x\n')).toEqual([]);
    expect(read(new EventStreamParser(), 'id: 1\0\ndata: a\n\nid: 2\ndata: b\n\n')).toEqual([
      { event: undefined, id: undefined, data: 'a' },
      { event: undefined, id: '2', data: 'b' },
    ]);
    expect(dataOf('data\n\ndata\ndata\n\nevent: t\n\n')).toEqual(['', '\n']);
    const parser = new EventStreamParser();
    read(parser, 'retry: 10x\n');
    expect(parser.retryMs).toBeNull();
    read(parser, 'retry: 500\n');
    expect(parser.retryMs).toBe(500);
    expect(dataOf('data: A\r\rdata: B\r\r')).toEqual(['A', 'B']);
    expect(dataOf(': keep-alive\n\n:\n\ndata: x\n\n')).toEqual(['x']);
    expect(dataOf('dataset: 1\neventual: 2\n data: 3\nda\n\n')).toEqual([]);
  });

  test('a byte order mark is taken off the start, however it is cut, and nowhere else', () => {
    const text = '\ufeffdata: \ufeffx\n\n';
    for (let cut = 0; cut <= 4; cut += 1) expect(dataOf(text, [cut])).toEqual(['\ufeffx']);
    const almost = Buffer.concat([Buffer.of(0xef, 0xbb), Buffer.from('\ndata: x\n\n')]);
    for (let cut = 0; cut <= 4; cut += 1) {
      expect(read(new EventStreamParser(), almost.subarray(0, cut), almost.subarray(cut))).toEqual([
        { event: undefined, id: undefined, data: 'x' },
      ]);
    }
  });

  test('FC-086 one budget for lines and events', () => {
    const limited = () => new EventStreamParser({ limitBytes: 1_024 });
    const parser = limited();
    expect(() => read(parser, `data: ${'x'.repeat(2_000)}`)).toThrow(expect.objectContaining({ reason: 'sse-limit' }));
    expect(parser.pendingBytes).toBe(0);
    expect(() => read(limited(), 'data: x\n'.repeat(200))).toThrow(expect.objectContaining({ reason: 'sse-limit' }));
    expect(() => read(limited(), ...Array<string>(200).fill('data: x\n'))).toThrow(
      expect.objectContaining({ reason: 'sse-limit' }),
    );
    const event = `data: ${'x'.repeat(92)}\n\n`;
    expect(read(limited(), event.repeat(10_000)).length).toBe(10_000);
  });

  test('FC-086 a frame over the budget is refused in every split, after the frames before it', () => {
    const text = `data: ok\n\ndata: ${'x'.repeat(60)}\n\ndata: never\n\n`;
    for (let cut = 0; cut <= text.length; cut += 1) {
      const parser = new EventStreamParser({ limitBytes: 50 });
      const frames: EventFrame[] = [];
      expect(() => {
        parser.push(Buffer.from(text.slice(0, cut)), frames);
        parser.push(Buffer.from(text.slice(cut)), frames);
      }).toThrow(expect.objectContaining({ reason: 'sse-limit' }));
      expect(frames.length).toBe(1);
    }
  });

  test('FC-086 a line of 8 MiB in pieces of 64 bytes is linear work', () => {
    const parser = new EventStreamParser({ limitBytes: 16 * 1024 * 1024 });
    const piece = Buffer.alloc(64, 'x');
    const frames: EventFrame[] = [];
    const before = process.cpuUsage();
    parser.push(Buffer.from('data: '), frames);
    for (let index = 0; index < 131_072; index += 1) parser.push(piece, frames);
    parser.push(Buffer.from('\n\n'), frames);
    expect(frames[0]?.data.length).toBe(8 * 1024 * 1024);
    const { user, system } = process.cpuUsage(before);
    expect((user + system) / 1_000).toBeLessThan(1_000);
  });
});
