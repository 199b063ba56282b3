/**
 * The least of a daemon, in a process of its own: output streams and files of any size as fast as a socket takes them,
 * and cuts on request. What is measured against it is the client.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { chanceOf } from './chance.ts';

/** Bytes of output in one event, as the daemon cuts them. */
export const chunkBytes = 16_384;

/** The output of every command: this block over and over, so that any position can be checked. */
export const block = Buffer.from(Uint8Array.from({ length: chunkBytes }, (_, at) => (at * 31 + (at >> 8) * 7) & 0xff));

/** A running bare daemon. */
export interface BareDaemon {
  readonly url: string;
  close(): void;
}

/** Starts it. It ends with its parent. */
export async function startBareDaemon(): Promise<BareDaemon> {
  const child = fork(fileURLToPath(import.meta.url), ['serve']);
  const [port] = (await once(child, 'message')) as [number];
  return { url: `http://127.0.0.1:${port}`, close: () => child.disconnect() };
}

const whole = block.toString('base64');

/** One output event, starting anywhere in the output. */
function eventAt(offset: number, total: number): { text: string; bytes: number } {
  const from = offset % chunkBytes;
  const bytes = Math.min(chunkBytes - from, total - offset);
  const output = from === 0 && bytes === chunkBytes ? whole : block.subarray(from, from + bytes).toString('base64');
  return { text: `event: output\ndata: {"offset":${offset},"stream":"stdout","output":"${output}"}\n\n`, bytes };
}

/** Streams `total` bytes from an offset on; the id `TOTAL-CUTS-SEED` breaks the connection CUTS times in all. */
async function streamOutput(id: string, from: number, response: ServerResponse): Promise<void> {
  const [total = 0, cuts = 0, seed = 1] = id.split('-').map(Number);
  const left = cutsLeft.get(id) ?? { cuts, chance: chanceOf(seed) };
  cutsLeft.set(id, left);
  const cutAfter = left.cuts > 0 ? left.chance() * ((2 * total) / (cuts + 1)) : Infinity;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  let sent = 0;
  for (let offset = from; offset < total;) {
    const { text, bytes } = eventAt(offset, total);
    if (sent + text.length > cutAfter) {
      left.cuts -= 1;
      // In the middle of an event, so that a half of it arrives.
      response.write(text.slice(0, Math.floor(left.chance() * text.length)));
      setImmediate(() => response.destroy());
      return;
    }
    if (!response.write(text)) await once(response, 'drain');
    sent += text.length;
    offset += bytes;
  }
  const exit = {
    exit_code: 0,
    signal: null,
    timed_out: false,
    truncated: false,
    writers_may_be_alive: false,
    offset: total,
  };
  response.end(`event: exit\ndata: ${JSON.stringify(exit)}\n\n`);
}

const cutsLeft = new Map<string, { cuts: number; readonly chance: () => number }>();

async function serveFile(request: IncomingMessage, bytes: number, response: ServerResponse): Promise<void> {
  if (request.method === 'PUT') {
    for await (const _chunk of request) {
      // Taken and forgotten.
    }
    response.writeHead(204).end();
    return;
  }
  response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': bytes });
  const piece = Buffer.alloc(65_536, block);
  for (let left = bytes; left > 0; left -= piece.length) {
    if (!response.write(left >= piece.length ? piece : piece.subarray(0, left))) await once(response, 'drain');
  }
  response.end();
}

function serve(): void {
  const server = createServer((request, response) => {
    response.on('error', () => {});
    const url = new URL(request.url ?? '/', 'http://daemon');
    const stream = /^\/v1\/exec\/([^/]+)\/stream$/.exec(url.pathname);
    const work =
      stream?.[1] === undefined
        ? serveFile(request, Number(url.searchParams.get('path')?.replace(/\D/g, '')), response)
        : streamOutput(stream[1], Number(url.searchParams.get('offset') ?? 0), response);
    work.catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1', () => process.send?.((server.address() as AddressInfo).port));
  process.once('disconnect', () => process.exit());
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.argv[2] === 'serve') serve();
