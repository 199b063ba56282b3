/** Decoding an exec start (`agentd-protocol.md` 7.1): shape first, then values. */
import { isObject, isText } from './bodies.ts';
import { problem } from './replies.ts';

/** A well-formed start request. */
export interface StartRequest {
  readonly execId: string;
  readonly command: readonly string[];
  /** `false`: the command is an argument vector; `true`: `/bin/sh`; a text: that shell. */
  readonly shell: boolean | string;
  readonly cwd: string | null;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string | number | null;
  readonly group: string | number | null;
  readonly timeoutMs: number | null;
  readonly stdin: boolean;
  readonly reapGroupOnExit: boolean;
  readonly inheritImageEnv: boolean;
  readonly poweroffOnExit: boolean;
}

const malformed = (detail: string) => problem(400, 'malformed_request', detail);

function flag(body: Record<string, unknown>, name: string): boolean {
  const value = body[name];
  if (value === undefined) return false;
  if (typeof value !== 'boolean') throw malformed(`${name} is not a boolean`);
  return value;
}

function textOrNull(body: Record<string, unknown>, name: string): string | null {
  const value = body[name] ?? null;
  if (value !== null && !isText(value)) throw malformed(`${name} is not a string`);
  return value;
}

function nameOrId(body: Record<string, unknown>, name: string): string | number | null {
  const value = body[name] ?? null;
  if (value === null || isText(value)) return value;
  if (typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff) return value;
  throw malformed(`${name} is neither a name nor an id`);
}

function texts(body: Record<string, unknown>, name: string): string[] {
  const value = body[name];
  if (!Array.isArray(value) || !value.every(isText)) throw malformed(`${name} is not an array of strings`);
  return value;
}

function environment(body: Record<string, unknown>): Record<string, string> {
  const value = body['env'];
  if (value === undefined) return {};
  if (!isObject(value) || !Object.entries(value).every((pair) => pair.every(isText))) {
    throw malformed('env is not an object of strings');
  }
  return value as Record<string, string>;
}

/** Decodes a request body. Throws a 400 `malformed_request`. */
export function decodeStart(body: unknown): StartRequest {
  if (!isObject(body)) throw malformed('the body is not a JSON object');
  const execId = body['exec_id'];
  if (!isText(execId)) throw malformed('exec_id is missing or not a string');
  const shell = body['shell'] ?? (body['shell'] === null ? null : false);
  if (typeof shell !== 'boolean' && !isText(shell)) throw malformed('shell is neither a boolean nor a string');
  const timeout = body['timeout_sec'] ?? null;
  if (timeout !== null && typeof timeout !== 'number') throw malformed('timeout_sec is not a number');
  const request: StartRequest = {
    execId,
    command: texts(body, 'command'),
    shell,
    cwd: textOrNull(body, 'cwd'),
    env: environment(body),
    user: nameOrId(body, 'user'),
    group: nameOrId(body, 'group'),
    timeoutMs: timeout === null ? null : timeout * 1_000,
    stdin: flag(body, 'stdin'),
    reapGroupOnExit: flag(body, 'reap_group_on_exit'),
    inheritImageEnv: flag(body, 'inherit_image_env'),
    poweroffOnExit: flag(body, 'poweroff_on_exit'),
  };
  if (execId === '') throw malformed('exec_id is empty');
  if (request.timeoutMs !== null && !(request.timeoutMs > 0 && Number.isFinite(request.timeoutMs))) {
    throw malformed('timeout_sec is not positive and finite');
  }
  return request;
}
