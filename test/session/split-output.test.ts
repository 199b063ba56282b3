import { describe, expect, test } from '@jest/globals';
import { OutputText, VmchartError } from 'vmchart/effects';
import type { ExecHandle, OutputEvent } from 'vmchart/effects';
import { DaemonRecorder, frame, rejection, testSession } from './daemon-recorder.ts';
import type { Reply } from './daemon-recorder.ts';

function handleOf(...replies: Reply[]): { handle: ExecHandle; http: DaemonRecorder } {
  const http = new DaemonRecorder(...replies);
  return { http, handle: testSession(http).session.exec('e1') };
}

async function text(side: ReadableStream<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of side) pieces.push(piece);
  return Buffer.concat(pieces).toString('utf8');
}

const settled = () =>
  new Promise<void>((resolve) => {
    setImmediate(resolve);
  });

describe('split output', () => {
  test('SPL-01 each side keeps its order, and both close on the exit', async () => {
    const { handle } = handleOf({
      chunks: [
        frame.output(0, 'o1 ') + frame.output(3, 'e1 ', 'stderr') + frame.output(6, 'o2 '),
        frame.output(9, 'e2 ', 'stderr') + frame.exit(12),
      ],
    });
    const split = handle.split();
    expect(await Promise.all([text(split.stdout), text(split.stderr)])).toEqual(['o1 o2 ', 'e1 e2 ']);
    expect([split.gaps, await split.done]).toEqual([[], { reason: 'Exited', cursor: 12 }]);
  });

  test('SPL-02 under the event policy a gap is logged under the side that came next', async () => {
    const { handle } = handleOf({
      chunks: [frame.output(0, 'before'), frame.gap(6, 900), frame.output(900, 'after', 'stderr'), frame.exit(905)],
    });
    const split = handle.split({ onGap: 'event' });
    expect(await Promise.all([text(split.stdout), text(split.stderr)])).toEqual(['before', 'after']);
    expect(split.gaps).toEqual([{ stream: 'stderr', from: 6, to: 900 }]);
  });

  test('SPL-03 under the error policy both sides end on a gap, and nothing after it arrives', async () => {
    const { handle, http } = handleOf({
      chunks: [frame.output(0, 'before'), frame.gap(6, 900), frame.output(900, 'after'), frame.exit(905)],
    });
    const split = handle.split();
    const [stdout, stderr] = [split.stdout.getReader(), split.stderr.getReader()];
    expect(Buffer.from((await stdout.read()).value ?? []).toString()).toBe('before');
    for (const side of [stdout, stderr]) {
      const error = await rejection(side.read());
      expect(error).toMatchObject({ wireKind: 'OutputGap', code: 'ERR_PLATFORM' });
      expect(error.message).toContain('[6, 900)');
      expect(error.message).toContain('offset 900');
    }
    expect([split.gaps, http.openStreams]).toEqual([[], 0]);
  });

  test('SPL-04 a gap that the stream ends on has no side', async () => {
    const { handle } = handleOf({ chunks: [frame.gap(0, 9), frame.exit(9)] });
    const split = handle.split({ onGap: 'event' });
    await Promise.all([text(split.stdout), text(split.stderr)]);
    expect(split.gaps).toEqual([{ stream: null, from: 0, to: 9 }]);
  });

  test('SPL-05 a failure reaches stderr while a chunk of stdout is unread', async () => {
    const { handle } = handleOf({ chunks: [frame.output(0, 'unread')] }, { status: 401 });
    const split = handle.split();
    const [stdout, stderr] = [split.stdout.getReader(), split.stderr.getReader()];
    const onStderr = await rejection(stderr.read());
    expect(onStderr.code).toBe('ERR_CREDENTIALS');
    await stdout.read();
    const onStdout = await rejection(stdout.read());
    expect([onStdout.code, onStdout.message]).toEqual([onStderr.code, onStderr.message]);
  });

  test('FC-088 the same error object, with its code, on both sides at once', async () => {
    const { handle } = handleOf({ chunks: [frame.output(0, 'unread') + frame.gap(6, 9)] });
    const split = handle.split();
    const stdout = split.stdout.getReader();
    const onStderr = await rejection(text(split.stderr));
    expect(Buffer.from((await stdout.read()).value ?? []).toString()).toBe('unread');
    expect(await rejection(stdout.read())).toBe(onStderr);
    expect(VmchartError.is(onStderr)).toBe(true);
  });

  test('SPL-06 cancelling one side of a stalled stream ends it', async () => {
    const { handle, http } = handleOf({
      chunks: [frame.output(0, 'a') + frame.output(1, 'b') + frame.output(2, 'c')],
      after: 'stall',
    });
    const split = handle.split();
    const stderr = split.stderr.getReader();
    const read = stderr.read();
    await settled();
    expect(http.openStreams).toBe(1);
    await split.stdout.cancel();
    expect((await read).done).toBe(true);
    expect(await split.done).toMatchObject({ reason: 'Stopped' });
    expect(http.openStreams).toBe(0);
  });

  test('a side that nobody reads stalls the other after one chunk', async () => {
    const { handle } = handleOf({
      chunks: [frame.output(0, 'a') + frame.output(1, 'b') + frame.output(2, 'E', 'stderr') + frame.exit(3)],
    });
    const split = handle.split();
    const stdout = split.stdout.getReader();
    const stderr = split.stderr.getReader();
    let heard = false;
    const read = stderr.read().then((chunk) => {
      heard = true;
      return chunk;
    });
    await settled();
    expect(heard).toBe(false);
    await stdout.read();
    expect(Buffer.from((await read).value ?? []).toString()).toBe('E');
  });

  test('a cut that nobody mends is an error on both sides, never an end', async () => {
    const { handle } = handleOf({ chunks: [frame.output(0, 'a')] });
    const split = handle.split({ reconnect: false });
    const both = await Promise.all([rejection(text(split.stdout)), rejection(text(split.stderr))]);
    expect(both.map(({ reason }) => reason)).toEqual(['stream-cut', 'stream-cut']);
  });

  test('an abort fails both sides at once, even while one is unread', async () => {
    const abort = new AbortController();
    const { handle, http } = handleOf({ chunks: [frame.output(0, 'a') + frame.output(1, 'b')], after: 'stall' });
    const split = handle.split({ signal: abort.signal });
    const stderr = split.stderr.getReader();
    const read = stderr.read();
    read.catch(() => undefined);
    await settled();
    abort.abort(new Error('enough'));
    expect((await rejection(read)).message).toBe('enough');
    expect((await rejection(split.done)).message).toBe('enough');
    expect(http.openStreams).toBe(0);
  });

  test('an unknown gap policy is refused', () => {
    const { handle } = handleOf();
    expect(() => handle.split({ onGap: 'ignore' as never })).toThrow(expect.objectContaining({ kind: 'InvalidArg' }));
  });

  test('FC-082 characters that straddle chunks and sides are put together per side', () => {
    const out = new OutputText();
    const event = (stream: 'stdout' | 'stderr', ...data: number[]): OutputEvent => ({
      type: 'output',
      offset: 0,
      stream,
      data: Uint8Array.from(data),
    });
    const heard = { stdout: '', stderr: '' };
    for (const piece of [
      event('stdout', 0xf0, 0x9f),
      event('stderr', 0x65, 0x72, 0x72),
      event('stdout', 0x9a, 0x80),
      event('stderr', 0xe2, 0x82),
    ]) {
      heard[piece.stream] += out.push(piece);
    }
    expect(heard).toEqual({ stdout: '🚀', stderr: 'err' });
    expect(out.end()).toEqual({ stdout: '', stderr: '\ufffd' });
  });
});
