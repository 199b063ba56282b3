/** One page's event stream: a greeting with the fleet as it stands, then entries in small batches. */
import type { ServerResponse } from 'node:http';
import type { FleetStore, NumberedEntry } from './fleet-store.ts';

/** How long entries are gathered before they are sent, in milliseconds: the eye sees no difference. */
const batchMs = 50;
/** Keeps proxies and sleeping tabs from taking silence for the end. */
const heartbeatMs = 15_000;
/** A page that reads this much too slowly is let go; it comes back and is greeted anew. */
const backlogBytes = 8 * 1024 * 1024;

/** Serves a stream until the page leaves or `end` is called. */
export function serveEvents(
  response: ServerResponse,
  store: FleetStore,
  greeting: Readonly<Record<string, unknown>>,
): { end(): void } {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  let batch: NumberedEntry[] = [];
  let timer: NodeJS.Timeout | null = null;
  const send = (event: string, data: unknown) => {
    if (response.writableLength > backlogBytes) return response.destroy();
    response.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
  };
  const flush = () => {
    timer = null;
    const entries = batch;
    batch = [];
    send('entries', entries);
  };
  send('hello', { ...greeting, now: Date.now(), seq: store.seq, lives: store.summaries() });
  const leave = store.follow((entry) => {
    batch.push(entry);
    timer ??= setTimeout(flush, batchMs);
  });
  const heartbeat = setInterval(() => response.write(': \n\n'), heartbeatMs);
  response.on('close', () => {
    leave();
    clearInterval(heartbeat);
    if (timer !== null) clearTimeout(timer);
  });
  return { end: () => response.end() };
}
