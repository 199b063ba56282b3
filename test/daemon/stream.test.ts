/** Output as server-sent events: offsets, replay, gaps, cuts and ends. */
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { manualClock } from '../../adapters/clock.ts';
import { createOutputLog } from '../../adapters/emulator/daemon/output-log.ts';
import { eventually, startGuest, token } from './guest-harness.ts';
import type { Harness } from './guest-harness.ts';

interface StreamEvent {
  readonly event: string;
  readonly data: Record<string, unknown>;
}

/** An open stream whose text can be looked at as it grows. */
interface Follower {
  readonly response: IncomingMessage;
  text(): string;
  events(): StreamEvent[];
  /** Resolves with whether the body was complete. */
  readonly ended: Promise<boolean>;
  close(): void;
}

const parse = (text: string): StreamEvent[] =>
  text
    .split('\n\n')
    .filter((block) => block.startsWith('event: '))
    .map((block) => {
      const [first = '', second = ''] = block.split('\n');
      return { event: first.slice(7), data: JSON.parse(second.slice(6)) as Record<string, unknown> };
    });

function follow(vm: Harness, id: string, query = ''): Promise<Follower> {
  return new Promise((resolve, reject) => {
    const options = {
      port: vm.port,
      path: `/v1/exec/${encodeURIComponent(id)}/stream${query}`,
      headers: { authorization: `Bearer ${token}` },
      agent: false,
    };
    const sent = request(options, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', () => undefined);
      const text = () => Buffer.concat(chunks).toString('latin1');
      resolve({
        response,
        text,
        events: () => parse(text()),
        ended: new Promise((ended) => {
          response.once('close', () => ended(response.complete));
        }),
        close: () => void sent.destroy(),
      });
    });
    sent.on('error', reject);
    sent.end();
  });
}

/** The bytes of one stream, and the gaps, in the order in which they came. */
function bytesOf(events: readonly StreamEvent[], kind?: string): Buffer {
  return Buffer.concat(
    events
      .filter(({ event, data }) => event === 'output' && (kind === undefined || data['stream'] === kind))
      .map(({ data }) => Buffer.from(String(data['output']), 'base64')),
  );
}

/** Every event starts where the one before it ended. */
function expectContiguous(events: readonly StreamEvent[], from: number): void {
  let at = from;
  for (const { event, data } of events) {
    if (event === 'gap') {
      expect(data['from']).toBe(at);
      at = Number(data['to']);
    } else {
      expect(data['offset']).toBe(at);
      if (event === 'output') at += Buffer.from(String(data['output']), 'base64').length;
    }
  }
}

const clock = manualClock();
let vm: Harness;
beforeAll(async () => {
  vm = await startGuest({ clock });
});
afterAll(() => vm.close());
const start = async (exec_id: string, command: string, more: Record<string, unknown> = {}): Promise<void> => {
  const json = { exec_id, command: [command], shell: true, env: { PATH: '/usr/bin:/bin' }, ...more };
  expect((await vm.call('/v1/exec/start', { json })).status).toBe(200);
};

describe('10 the wire', () => {
  test('10.4 the transcript has its headers, its lines and its offsets', async () => {
    await start('transcript', 'echo hello; sleep 0.1; echo warn >&2; read x; echo done; exit 3', { stdin: true });
    const stream = await follow(vm, 'transcript');
    expect(stream.response.statusCode).toBe(200);
    expect(stream.response.headers).toMatchObject({
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache',
      'x-accel-buffering': 'no',
      'microvms-agentd-version': '0.12.0',
    });
    await eventually(() => stream.events().length === 2);
    await clock.advance(15_000);
    await eventually(() => stream.text().endsWith(':\n\n'));
    await vm.call('/v1/exec/transcript/stdin', { json: { data_b64: 'Cg==' } });
    expect(await stream.ended).toBe(true);
    expect(stream.text()).toBe(
      [
        'event: output\ndata: {"offset":0,"stream":"stdout","output":"aGVsbG8K"}\n\n',
        'event: output\ndata: {"offset":6,"stream":"stderr","output":"d2Fybgo="}\n\n',
        ':\n\n',
        'event: output\ndata: {"offset":11,"stream":"stdout","output":"ZG9uZQo="}\n\n',
        'event: exit\ndata: {"exit_code":3,"signal":null,"timed_out":false,"truncated":false,"writers_may_be_alive":false,"offset":16}\n\n',
      ].join(''),
    );
    for (const [query, offsets] of [
      ['?offset=11', [11, 16]],
      ['?offset=3', [3, 6, 11, 16]],
      ['?offset=16', [16]],
      ['?offset=999', [16]],
    ] as const) {
      const again = await follow(vm, 'transcript', query);
      expect(await again.ended).toBe(true);
      expect(again.events().map(({ data }) => data['offset'])).toEqual(offsets);
    }
    // Also after the output was taken.
    await vm.call('/v1/exec/transcript/ack', { method: 'POST' });
    const acked = await follow(vm, 'transcript');
    await acked.ended;
    expect(bytesOf(acked.events()).toString()).toBe('hello\nwarn\ndone\n');
  });

  test('10.1 an unusable offset is refused before the id is looked up', async () => {
    for (const offset of ['-1', '1.5', 'x', '', '+1', '18446744073709551616', '1&offset=2']) {
      const answer = await vm.call(`/v1/exec/none/stream?offset=${offset}`);
      expect([offset, answer.status, answer.json()['error']]).toEqual([offset, 400, 'malformed_request']);
    }
    expect((await vm.call('/v1/exec/none/stream?offset=18446744073709551615')).status).toBe(404);
    expect((await vm.call('/v1/exec/none/stream')).json()).toEqual({ error: 'unknown_exec', detail: 'none' });
    expect((await vm.call('/v1/exec/transcript/stream', { method: 'HEAD' })).status).toBe(200);
  });

  test('10.2 keep-alives come only after silence, each a bare comment', async () => {
    await start('quiet', 'read x', { stdin: true });
    const stream = await follow(vm, 'quiet');
    await clock.advance(14_999);
    expect(stream.text()).toBe('');
    await clock.advance(1);
    await clock.advance(15_000);
    await eventually(() => stream.text() === ':\n\n:\n\n');
    await vm.call('/v1/exec/quiet/stdin', { json: { signal: 'eof' } });
    await stream.ended;
  });
});

describe('10 many readers and much output', () => {
  test('10.1 attachers do not influence each other, and each gets every byte once', async () => {
    await start('many', 'read x; head -c 700000 /dev/urandom | tee /tmp/many; echo end >&2', { stdin: true });
    const followers = await Promise.all([0, 0, 5, 100_000].map((offset) => follow(vm, 'many', `?offset=${offset}`)));
    followers[0]?.close();
    await vm.call('/v1/exec/many/stdin', { json: { signal: 'eof' } });
    await Promise.all(followers.slice(1).map(({ ended }) => ended));
    const written = (await vm.call('/v1/fs/file?path=/tmp/many')).body;
    for (const [index, offset] of [0, 5, 100_000].entries()) {
      const events = followers[index + 1]?.events() ?? [];
      expectContiguous(events, offset);
      expect(events.some(({ event }) => event === 'gap')).toBe(false);
      expect(bytesOf(events).equals(Buffer.concat([written, Buffer.from('end\n')]).subarray(offset))).toBe(true);
      expect(
        Math.max(...events.map(({ data }) => Buffer.from(String(data['output'] ?? ''), 'base64').length)),
      ).toBeLessThanOrEqual(16_384);
    }
  });

  test('10.3 a late attach after two mebibytes starts with a gap to the window, cut to the byte', async () => {
    await start('late', 'head -c 2097152 /dev/zero');
    await vm.exited('late');
    const stream = await follow(vm, 'late');
    await stream.ended;
    expect(stream.events()[0]).toEqual({ event: 'gap', data: { from: 0, to: 1_048_576 } });
    expect(bytesOf(stream.events())).toHaveLength(1_048_576);
    expectContiguous(stream.events(), 0);
    const inside = await follow(vm, 'late', '?offset=1048577');
    await inside.ended;
    expect(bytesOf(inside.events())).toHaveLength(1_048_575);
    expect((await vm.call('/v1/exec/late')).json()).toMatchObject({ truncated: false });
  });

  test('a stream that is cut at any byte goes on at its offset without loss or repetition', async () => {
    await start('cuts', 'for i in $(seq 400); do echo "line $i"; echo "error $i" >&2; done');
    await vm.exited('cuts');
    const whole = await follow(vm, 'cuts');
    await whole.ended;
    const faults = vm.guest.faults;
    if (faults === undefined) throw new Error('no faults');
    const got: StreamEvent[] = [];
    let offset = 0;
    for (let cut = 1; ; cut += 977) {
      faults.streamCuts.push(cut);
      const stream = await follow(vm, 'cuts', `?offset=${offset}`).catch(() => null);
      const complete = stream !== null && (await stream.ended);
      // A block without its blank line is not delivered.
      const text = stream?.text() ?? '';
      const events = parse(text.slice(0, text.lastIndexOf('\n\n') + 2));
      expectContiguous(events, offset);
      if (complete) {
        got.push(...events);
        break;
      }
      expect(stream === null || text.length === cut).toBe(true);
      got.push(...events);
      for (const { event, data } of events) {
        if (event === 'output') offset = Number(data['offset']) + Buffer.from(String(data['output']), 'base64').length;
      }
    }
    expect(got.at(-1)?.event).toBe('exit');
    for (const kind of ['stdout', 'stderr'])
      expect(bytesOf(got, kind).equals(bytesOf(whole.events(), kind))).toBe(true);
    expect(faults.streamCuts).toEqual([]);
  });

  test('a delay on request holds every answer', async () => {
    const faults = vm.guest.faults;
    if (faults === undefined) throw new Error('no faults');
    faults.delayMs = 5_000;
    const before = clock.now();
    let status = 0;
    void vm.call('/v1/procs').then((answer) => (status = answer.status));
    await eventually(async () => {
      await clock.advance(500);
      return status !== 0;
    });
    faults.delayMs = 0;
    expect(status).toBe(200);
    expect(clock.now() - before).toBeGreaterThanOrEqual(5_000);
  });

  test('10.3 during the linger a stream stays open, and a suspend breaks it', async () => {
    await start('linger', 'sleep 1000 & echo done');
    const stream = await follow(vm, 'linger');
    await eventually(() => stream.events().length === 1);
    await vm.guest.freeze();
    expect(await stream.ended).toBe(false);
    await vm.guest.thaw();
    const again = await follow(vm, 'linger', '?offset=5');
    await eventually(async () => {
      const procs = (await vm.call('/v1/procs')).json()['procs'] as { exec_id: string; pgid: number; pids: number[] }[];
      return procs.some(({ exec_id, pgid, pids }) => exec_id === 'linger' && !pids.includes(pgid));
    });
    await clock.advance(5_000);
    expect(await again.ended).toBe(true);
    expect(again.events().map(({ event, data }) => [event, data['writers_may_be_alive']])).toEqual([['exit', true]]);
  });

  test('FC-094 with held children a slow reader slows the child and loses nothing', async () => {
    const holding = await startGuest({ daemon: { slowReaders: 'hold' } });
    try {
      const json = {
        exec_id: 'x',
        command: ['head -c 30000000 /dev/zero; touch /tmp/finished'],
        shell: true,
        env: { PATH: '/usr/bin:/bin' },
      };
      const gate = { exec_id: 'x', command: [`read x; ${json.command[0]}`], shell: true, stdin: true, env: json.env };
      await holding.call('/v1/exec/start', { json: gate });
      const stream = await follow(holding, 'x');
      stream.response.pause();
      await holding.call('/v1/exec/x/stdin', { json: { signal: 'eof' } });
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect((await holding.call('/v1/fs/file?path=/tmp/finished')).status).toBe(404);
      stream.response.resume();
      expect(await stream.ended).toBe(true);
      expect(stream.text()).not.toContain('event: gap');
      expect(stream.events().at(-1)?.data['offset']).toBe(30_000_000);
    } finally {
      await holding.close();
    }
  });
});

describe('the output log', () => {
  const limits = { replayBytes: 100, capacity: 4, maxOutputBytes: 1_000 };

  test('10.3 a reader that is too far behind gets one gap to the present', () => {
    const log = createOutputLog(limits);
    const reader = log.attach(0, () => undefined);
    for (let index = 0; index < 5; index += 1) log.append('stdout', Buffer.alloc(10, index));
    expect(reader.next()).toEqual({ from: 0, to: 50 });
    expect(reader.next()).toBeNull();
    for (let index = 0; index < 4; index += 1) log.append('stderr', Buffer.alloc(10, index));
    expect(reader.next()).toMatchObject({ offset: 50, stream: 'stderr', data: Buffer.alloc(10, 0) });
    // What was missed may still be in the window.
    expect(log.attach(0, () => undefined).next()).toMatchObject({ offset: 0, data: Buffer.alloc(10, 0) });
  });

  test('a replay is taken at the attach and survives what comes after it', () => {
    const log = createOutputLog(limits);
    log.append('stdout', Buffer.alloc(100, 'a'));
    const reader = log.attach(40, () => undefined);
    for (let index = 0; index < 3; index += 1) log.append('stdout', Buffer.alloc(50_000, 'b'));
    expect(reader.next()).toMatchObject({ offset: 40, data: Buffer.alloc(60, 'a') });
    expect(reader.next()).toEqual({ from: 100, to: 150_100 });
  });

  test('an offset in the future waits for its byte', () => {
    const log = createOutputLog(limits);
    const reader = log.attach(15, () => undefined);
    log.append('stdout', Buffer.from('0123456789'));
    expect(reader.next()).toBeNull();
    log.append('stdout', Buffer.from('abcdefghij'));
    expect(reader.next()).toMatchObject({ offset: 15, data: Buffer.from('fghij') });
  });

  test('any sizes, any attach points: every byte once and in order', () => {
    let state = 42;
    const random = (below: number): number => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
      return (state >>> 8) % below;
    };
    for (let round = 0; round < 60; round += 1) {
      const log = createOutputLog({ replayBytes: 1 + random(200_000), capacity: 1 + random(20), maxOutputBytes: 10 });
      const all: Buffer[] = [];
      const readers: { reader: ReturnType<typeof log.attach>; from: number; at: number }[] = [];
      const drain = (entry: (typeof readers)[number]): void => {
        const whole = Buffer.concat(all);
        for (let output = entry.reader.next(); output !== null; output = entry.reader.next()) {
          if ('to' in output) {
            expect(output.from).toBe(entry.at);
            entry.at = output.to;
            continue;
          }
          expect(output.offset).toBe(entry.at);
          expect(output.data.equals(whole.subarray(entry.at, entry.at + output.data.length))).toBe(true);
          entry.at += output.data.length;
        }
        expect(entry.at).toBe(Math.max(whole.length, entry.from));
      };
      for (let step = 0; step < 25; step += 1) {
        const data = Buffer.alloc(1 + random(65_536), random(256));
        log.append(random(2) === 0 ? 'stdout' : 'stderr', data);
        all.push(data);
        if (random(3) === 0) {
          const from = random(log.total + 10);
          readers.push({ reader: log.attach(from, () => undefined), from, at: from });
        }
        for (const entry of readers) if (random(4) === 0) drain(entry);
      }
      for (const entry of readers) drain(entry);
    }
  });
});
