/** The exec and procs routes (`agentd-protocol.md` 7, 8 and 11). */
import { posix } from 'node:path';
import { LaunchFailure } from '../guest/vm-processes.ts';
import type { VmFiles } from '../guest/vm-files.ts';
import { resolveIdentity, resolveShell } from './accounts.ts';
import type { Identity } from './accounts.ts';
import { parseJson, readBody, saysJson } from './bodies.ts';
import type { ExecRecord, ExecResult } from './exec-record.ts';
import type { ExecRegistry } from './exec-registry.ts';
import type { DaemonSettings } from './options.ts';
import { problem, sendJson } from './replies.ts';
import type { Call, Route } from './router.ts';
import { decodeStart } from './start-request.ts';
import type { StartRequest } from './start-request.ts';

/** What the exec routes work on. */
export interface ExecRoutesWorld {
  readonly settings: DaemonSettings;
  readonly files: VmFiles;
  readonly registry: ExecRegistry;
  /** What a child inherits when it asks to. */
  readonly imageEnv: Readonly<Record<string, string>>;
  /** What the run hook brought. */
  launchEnv(): Readonly<Record<string, string>>;
  /** Whether the daemon may power the VM off. */
  readonly canPowerOff: boolean;
  powerOff(): void;
}

/** The daemon's working directory, which children inherit. */
export const workingDirectory = '/workspace';

/** Reads a JSON body. Throws a 400 `malformed_request`, whatever is wrong with it. */
export async function readJson(call: Call, limitBytes: number): Promise<unknown> {
  if (!saysJson(call.request)) throw problem(400, 'malformed_request', 'the content type is not JSON');
  let value: unknown;
  try {
    value = parseJson(await readBody(call.request, limitBytes));
  } catch {
    throw problem(400, 'malformed_request', 'the body could not be read');
  }
  if (value === undefined) throw problem(400, 'malformed_request', 'the body is not JSON');
  return value;
}

const outcomeFields = (result: ExecResult) => ({
  exit_code: result.exitCode,
  signal: result.signal,
  timed_out: result.timedOut,
  stdout: result.stdout,
  stderr: result.stderr,
  truncated: result.truncated,
  writers_may_be_alive: result.writersMayBeAlive,
});

/** Finds the record that a path names. Throws a 404 `unknown_exec`. */
export function findExec(registry: ExecRegistry, call: Call): ExecRecord {
  const record = registry.get(call.id);
  if (record === null) throw problem(404, 'unknown_exec', call.id);
  return record;
}

/** The routes. */
export function execRoutes(world: ExecRoutesWorld): Route[] {
  const { settings, files, registry, imageEnv } = world;

  /** Checks in the order of 7.3; throws at the first that fails. */
  const resolve = (request: StartRequest): { identity: Identity; argv: string[]; env: Record<string, string> } => {
    const user = request.user ?? settings.defaultUser;
    const identity = resolveIdentity(files, user, request.group);
    const env = {
      ...(request.inheritImageEnv ? imageEnv : {}),
      ...identity.env,
      ...world.launchEnv(),
      ...request.env,
    };
    if (request.shell === '') throw problem(400, 'malformed_request', 'shell is empty');
    if (request.shell === false) {
      if (request.command.length === 0) throw problem(400, 'malformed_request', 'command is empty');
      return { identity, argv: [...request.command], env };
    }
    const shell =
      request.shell === true ? '/bin/sh' : resolveShell(files, request.shell, [env['PATH'], imageEnv['PATH']]);
    return { identity, argv: [shell, '-c', request.command.join('\n')], env };
  };

  const start = async (call: Call): Promise<void> => {
    const request = decodeStart(await readJson(call, settings.maxBodyBytes));
    const { identity, argv, env } = resolve(request);
    const answer = { exec_id: request.execId, phase: 'running' };
    if (request.poweroffOnExit && !world.canPowerOff) {
      throw problem(400, 'poweroff_unavailable', 'the daemon may not power the VM off');
    }
    if (registry.get(request.execId) !== null) return sendJson(call.response, answer);
    const record = registry.add(request.execId, { reap: request.reapGroupOnExit, timeoutMs: request.timeoutMs });
    try {
      await record.start({
        argv,
        env,
        cwd: posix.resolve(workingDirectory, request.cwd ?? '.'),
        uid: identity.uid,
        gid: identity.gid,
        stdin: request.stdin,
      });
    } catch (error) {
      registry.remove(record);
      throw problem(500, 'spawn_failed', error instanceof LaunchFailure ? error.message : 'the system refused');
    }
    if (request.poweroffOnExit) record.whenPublished(world.powerOff);
    sendJson(call.response, answer);
  };

  const poll = (call: Call): void => {
    const record = findExec(registry, call);
    const result = record.result();
    sendJson(call.response, {
      exec_id: record.execId,
      phase: record.phase,
      ...(result === null ? {} : outcomeFields(result)),
    });
  };

  const ack = (call: Call): void => {
    const record = findExec(registry, call);
    const answer = record.ack();
    if (answer === 'still_running') throw problem(409, 'still_running', 'there is no result yet');
    if (answer === 'already_acked') throw problem(409, 'already_acked', 'the output was handed out before');
    if (answer === 'unknown') throw problem(404, 'unknown_exec', call.id);
    sendJson(call.response, { exec_id: record.execId, phase: 'acked', ...outcomeFields(answer) });
  };

  const kill = async (call: Call): Promise<void> => {
    const record = findExec(registry, call);
    sendJson(call.response, { exec_id: record.execId, killed: await record.kill() });
  };

  const procs = (call: Call): void => {
    const groups = registry.all().map((record) => ({
      exec_id: record.execId,
      pgid: record.process?.pid ?? null,
      started_at: record.startedAt,
      child_exited: record.outcome !== null,
      reap: record.reap,
      pids: record.process?.groupMembers() ?? [],
    }));
    sendJson(call.response, { procs: groups });
  };

  return [
    { path: '/v1/exec/start', auth: 'bearer', methods: { POST: start } },
    { path: '/v1/exec/{id}', auth: 'bearer', methods: { GET: poll } },
    { path: '/v1/exec/{id}/ack', auth: 'bearer', methods: { POST: ack } },
    { path: '/v1/exec/{id}/kill', auth: 'bearer', methods: { POST: kill } },
    { path: '/v1/procs', auth: 'bearer', methods: { GET: procs } },
  ];
}
