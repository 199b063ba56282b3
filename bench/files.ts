/** One GiB up and down: the session beside a bare `got` pipe, with what the process's memory grows by. */
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { got } from 'got';
import { Session, awsPorts } from 'vmchart';
import { block, startBareDaemon } from './bare-daemon.ts';
import type { BenchTable } from './table.ts';

const MiB = 1_048_576;
const total = 1_024 * MiB;

/** Runs a transfer, watching how far the memory of the process rises. */
async function watched(transfer: () => Promise<unknown>): Promise<{ seconds: number; grownMiB: number }> {
  const before = process.memoryUsage.rss();
  let peak = before;
  const watching = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage.rss());
  }, 20);
  const startedAt = performance.now();
  try {
    await transfer();
  } finally {
    clearInterval(watching);
  }
  return { seconds: (performance.now() - startedAt) / 1_000, grownMiB: (peak - before) / MiB };
}

async function makeFile(path: string): Promise<void> {
  const piece = Buffer.alloc(MiB, block);
  await writeFile(
    path,
    Readable.from(
      (function* pieces() {
        for (let at = 0; at < total; at += MiB) yield piece;
      })(),
    ),
  );
}

/** Each transfer once to warm up on a small scale by the run before it, then measured once: a GiB is its own average. */
export async function measure(): Promise<BenchTable> {
  const daemon = await startBareDaemon();
  const folder = await mkdtemp(join(tmpdir(), 'vmchart-bench-'));
  const local = join(folder, 'local');
  const fetched = join(folder, 'fetched');
  const { http, clock, localFiles } = awsPorts({ region: 'us-east-1', environment: {} });
  const session = new Session({
    endpoint: daemon.url,
    agentToken: 'bench',
    http,
    clock,
    ...(localFiles && { localFiles }),
  });
  const remote = `/file-${total}`;
  const url = `${daemon.url}/v1/fs/file?path=${encodeURIComponent(remote)}`;
  try {
    await makeFile(local);
    const transfers: Record<string, () => Promise<unknown>> = {
      'up, bare got pipe': () =>
        pipeline(createReadStream(local), got.stream.put(url, { retry: { limit: 0 } }), async (answer) => {
          for await (const _ of answer);
        }),
      'up, session': () => session.uploadFrom(local, remote),
      'down, bare got pipe': () => pipeline(got.stream(url, { retry: { limit: 0 } }), createWriteStream(fetched)),
      'down, session': () => session.downloadTo(remote, fetched),
    };
    const rows: (string | number)[][] = [];
    const rates: Record<string, number> = {};
    for (const [name, transfer] of Object.entries(transfers)) {
      const { seconds, grownMiB } = await watched(transfer);
      if (name.startsWith('down') && (await stat(fetched)).size !== total) throw new Error(`${name} lost bytes`);
      rates[name] = total / MiB / seconds;
      const bare = rates[name.replace('session', 'bare got pipe')] ?? Number.NaN;
      rows.push([name, rates[name].toFixed(0), (rates[name] / bare).toFixed(2), grownMiB.toFixed(0)]);
    }
    return {
      title: 'Files of 1 GiB',
      about: 'Between the local disk and a server in a process of its own.',
      columns: ['transfer', 'MiB a second', 'of the bare pipe', 'memory grown by, MiB'],
      rows,
    };
  } finally {
    daemon.close();
    http.close?.();
    await rm(folder, { recursive: true, force: true });
  }
}
