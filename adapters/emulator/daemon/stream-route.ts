/** `GET /v1/exec/{id}/stream`: output as server-sent events from a byte offset (`agentd-protocol.md` 10). */
import type { GuestFaults } from '../guest.ts';
import type { Alarms } from './alarms.ts';
import { encodeEvents } from './event-encoder.ts';
import type { ExecRecord } from './exec-record.ts';
import { findExec } from './exec-routes.ts';
import type { ExecRegistry } from './exec-registry.ts';
import type { DaemonSettings } from './options.ts';
import { oneUnsigned } from './queries.ts';
import { problem } from './replies.ts';
import type { Call, Route } from './router.ts';

const keepAliveComment = Buffer.from(':\n\n');

function exitText(record: ExecRecord): string {
  const { outcome, output } = record;
  const data = {
    exit_code: outcome?.exitCode ?? null,
    signal: outcome?.signal ?? null,
    timed_out: outcome?.timedOut ?? false,
    truncated: output.truncated,
    writers_may_be_alive: outcome?.writersMayBeAlive ?? false,
    offset: output.total,
  };
  return `event: exit\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Follows one record on one connection. */
function follow({ request, response }: Call, record: ExecRecord, offset: number, world: StreamWorld): void {
  const { alarms, settings } = world;
  let blocked = false;
  let ended = false;
  let bytesLeft = world.faults.streamCuts.shift() ?? Number.POSITIVE_INFINITY;
  let quietSince = alarms.now();

  const stop = (): void => {
    ended = true;
    reader.detach();
    cancelPublished();
    cancelKeepalive();
  };
  const write = (bytes: Buffer, sent: () => void = () => undefined): void => {
    quietSince = alarms.now();
    if (bytes.length < bytesLeft) {
      bytesLeft -= bytes.length;
      blocked = !response.write(bytes, sent) || blocked;
      return;
    }
    stop();
    response.write(bytes.subarray(0, bytesLeft), () => response.destroy());
  };
  const pump = (): void => {
    for (;;) {
      if (ended || blocked) return;
      const events = encodeEvents(reader.next);
      if (events === null) break;
      write(events.bytes, events.release);
    }
    if (record.outcome === null) return;
    write(Buffer.from(exitText(record)));
    if (ended) return;
    stop();
    response.end();
  };
  const keepAlive = (): void => {
    const quietMs = alarms.now() - quietSince;
    if (quietMs >= settings.sseKeepaliveMs && !blocked) write(keepAliveComment);
    if (!ended)
      cancelKeepalive = alarms.set(Math.max(1, quietSince + settings.sseKeepaliveMs - alarms.now()), keepAlive);
  };

  const reader = record.output.attach(offset, pump);
  let cancelPublished = (): void => undefined;
  let cancelKeepalive = alarms.set(settings.sseKeepaliveMs, keepAlive);
  response.writeHead(200, {
    'content-type': 'text/event-stream',
    'cache-control': 'no-cache',
    'x-accel-buffering': 'no',
  });
  if (request.method === 'HEAD') {
    stop();
    response.end();
    return;
  }
  response.flushHeaders();
  response.on('drain', () => {
    blocked = false;
    pump();
  });
  response.once('close', stop);
  pump();
  if (!ended) cancelPublished = record.whenPublished(pump);
}

/** What streams work on. */
export interface StreamWorld {
  readonly settings: DaemonSettings;
  readonly registry: ExecRegistry;
  readonly alarms: Alarms;
  readonly faults: GuestFaults;
}

/** The stream route. */
export function streamRoute(world: StreamWorld): Route {
  return {
    path: '/v1/exec/{id}/stream',
    auth: 'bearer',
    methods: {
      GET: (call) => {
        let offset: number;
        try {
          offset = oneUnsigned(call.query, 'offset') ?? 0;
        } catch (error) {
          throw problem(400, 'malformed_request', (error as Error).message);
        }
        follow(call, findExec(world.registry, call), offset, world);
      },
    },
  };
}
