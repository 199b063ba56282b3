/** `POST /v1/exec/{id}/stdin` (`agentd-protocol.md` 9). */
import { setTimeout as delay } from 'node:timers/promises';
import type { PipeWriter } from '../guest/pipes.ts';
import type { Alarms } from './alarms.ts';
import { decodeBase64, isObject, isText } from './bodies.ts';
import { findExec, readJson } from './exec-routes.ts';
import type { ExecRecord } from './exec-record.ts';
import type { ExecRegistry } from './exec-registry.ts';
import type { DaemonSettings } from './options.ts';
import { problem, sendJson } from './replies.ts';
import type { Call, Route } from './router.ts';

interface StdinRequest {
  readonly data: string | null;
  readonly signal: string | null;
}

function decode(body: unknown): StdinRequest {
  if (!isObject(body)) throw problem(400, 'malformed_request', 'the body is not a JSON object');
  const [data, signal] = ['data_b64', 'signal'].map((name) => {
    const value = body[name] ?? null;
    if (value !== null && !isText(value)) throw problem(400, 'malformed_request', `${name} is not a string`);
    return value;
  });
  return { data: data ?? null, signal: signal ?? null };
}

const closed = () => problem(410, 'stdin_closed', 'standard input is closed');

/** How long a full pipe is left alone before the next try, in milliseconds of real time. */
const longestPauseMs = 10;

/** Writes all of it, however slowly the child reads. Throws 408 when it does not read in time, 410 when not at all. */
async function writeAll(pipe: PipeWriter, data: Buffer, timeoutMs: number, alarms: Alarms): Promise<void> {
  let late = false;
  const cancel = alarms.set(timeoutMs, () => {
    late = true;
  });
  try {
    let pauseMs = 0;
    for (let at = 0; at < data.length;) {
      if (pipe.closed) throw closed();
      const written = pipe.writeSome(data.subarray(at));
      at += written;
      if (at === data.length) return;
      if (late) throw problem(408, 'stdin_write_timeout', 'the child did not read in time');
      pauseMs = written > 0 ? 0 : Math.min(longestPauseMs, pauseMs + 1);
      await delay(pauseMs);
    }
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    if (code !== 'EPIPE') throw problem(500, 'stdin_write_failed', code);
    pipe.close();
    throw closed();
  } finally {
    cancel();
  }
}

/** The stdin route. */
export function stdinRoute(world: {
  readonly settings: DaemonSettings;
  readonly registry: ExecRegistry;
  readonly alarms: Alarms;
}): Route {
  const { settings, registry, alarms } = world;
  const turns = new WeakMap<ExecRecord, Promise<void>>();

  const write = async (record: ExecRecord, data: Buffer, eof: boolean): Promise<void> => {
    const pipe = record.process?.stdin ?? null;
    if (pipe === null || pipe.closed) throw closed();
    if (data.length > 0) await writeAll(pipe, data, settings.stdinWriteTimeoutMs, alarms);
    if (eof) pipe.close();
  };

  const serve = async (call: Call): Promise<void> => {
    const request = decode(await readJson(call, settings.maxBodyBytes));
    const record = findExec(registry, call);
    if (!record.takesStdin) throw problem(409, 'stdin_not_requested', 'the exec was started without stdin');
    if (request.signal !== null && request.signal !== 'eof') {
      throw problem(400, 'malformed_request', `no signal ${JSON.stringify(request.signal)}`);
    }
    const data = decodeBase64(request.data ?? '');
    if (data === null) throw problem(400, 'malformed_request', 'data_b64 is not base64');
    if (data.length > settings.maxStdinWriteBytes) {
      throw problem(413, 'stdin_write_too_large', `more than ${settings.maxStdinWriteBytes} bytes`);
    }
    const eof = request.signal === 'eof';
    // One write after the other: their bytes must not mix.
    const turn = (turns.get(record) ?? Promise.resolve()).then(() => write(record, data, eof));
    turns.set(
      record,
      turn.catch(() => undefined),
    );
    await turn;
    sendJson(call.response, { exec_id: record.execId, written: data.length, eof });
  };

  return { path: '/v1/exec/{id}/stdin', auth: 'bearer', methods: { POST: serve } };
}
