/** The JSON Schemas of the daemon's bodies, queries and events (`agentd-protocol.md` 6). */

/** A JSON Schema of draft 2020-12. */
export type Schema = Readonly<Record<string, unknown>>;

const text: Schema = { type: 'string' };
const flag: Schema = { type: 'boolean' };
const whole: Schema = { type: 'integer', minimum: 0 };
const uint32: Schema = { ...whole, format: 'uint32', maximum: 4_294_967_295 };
const uint64: Schema = { ...whole, format: 'uint64' };
const int32: Schema = { type: 'integer', format: 'int32' };
const orNull = (schema: Schema): Schema =>
  typeof schema['type'] === 'string'
    ? { ...schema, type: [schema['type'], 'null'] }
    : { anyOf: [schema, { type: 'null' }] };
const list = (items: Schema): Schema => ({ type: 'array', items });
const withDefault = (schema: Schema, value: unknown): Schema => ({ ...schema, default: value });
const textMap: Schema = { type: 'object', additionalProperties: text };

/** Points at one of {@link definitions}. */
export const ref = (name: string): Schema => ({ $ref: `#/$defs/${name}` });

const object = (
  description: string,
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[],
): Schema => ({
  description,
  type: 'object',
  properties,
  required,
});

const outcome = {
  exit_code: orNull(int32),
  signal: orNull(int32),
  timed_out: withDefault(flag, false),
} as const;

/** Every shape by its name. */
export const definitions: Readonly<Record<string, Schema>> = {
  DiskHealth: object(
    'Free space where the daemon works.',
    { available_bytes: uint64, reserve_bytes: uint64, under_pressure: flag },
    ['available_bytes', 'reserve_bytes', 'under_pressure'],
  ),
  ExitEvent: object(
    'The last event of a stream.',
    { ...outcome, truncated: flag, writers_may_be_alive: flag, offset: uint64 },
    ['exit_code', 'signal', 'truncated', 'writers_may_be_alive', 'offset'],
  ),
  FileReadQuery: object(
    'Which file, and which of its lines.',
    { path: text, start_line: orNull(uint64), end_line: orNull(uint64) },
    ['path'],
  ),
  FsQuery: object('Which path, and the octal mode of a written file.', { path: text, mode: orNull(text) }, ['path']),
  GapEvent: object('Bytes that will not come on this connection.', { from: uint64, to: uint64 }, ['from', 'to']),
  HandlerOutcome: object(
    "How the workload's own handler of a hook ended.",
    { ...outcome, duration_ms: uint64, error: text },
    ['exit_code', 'signal', 'timed_out', 'duration_ms'],
  ),
  Health: object(
    'Liveness and state.',
    {
      version: text,
      bootstrapped: flag,
      disk: withDefault(orNull(ref('DiskHealth')), null),
      identity_degraded: flag,
      identity_repaired: flag,
      busy: withDefault(flag, false),
      execs: withDefault(whole, 0),
      hooks: withDefault(list(ref('HookObservation')), []),
      hooks_dropped: withDefault(uint64, 0),
      identity_steps: withDefault(list(ref('IdentityStep')), []),
      image_env_keys: withDefault(orNull(whole), null),
    },
    ['version', 'bootstrapped', 'identity_degraded', 'identity_repaired'],
  ),
  HookObservation: object(
    'A hook call that the daemon saw.',
    { hook: text, fired_at: uint64, handler: ref('HandlerOutcome') },
    ['hook', 'fired_at'],
  ),
  IdentityStep: object('One step of the identity repair.', { name: text, outcome: text, error: text }, [
    'name',
    'outcome',
  ]),
  KillResponse: object('Whether a signal reached the group.', { exec_id: text, killed: flag }, ['exec_id', 'killed']),
  NameOrId: { description: 'A name or a numeric id.', anyOf: [uint32, text] },
  OutputEvent: object('Bytes of one pipe read.', { offset: uint64, stream: ref('StreamKind'), output: text }, [
    'offset',
    'stream',
    'output',
  ]),
  Phase: { description: 'Where an exec is.', type: 'string', enum: ['running', 'exited', 'acked'] },
  PollResponse: object(
    'The phase, and with a result all of its fields.',
    {
      exec_id: text,
      phase: ref('Phase'),
      ...outcome,
      stdout: text,
      stderr: text,
      truncated: flag,
      writers_may_be_alive: flag,
    },
    ['exec_id', 'phase'],
  ),
  ProcGroup: object(
    'The process group of one exec.',
    { exec_id: text, pgid: orNull(uint32), started_at: uint64, child_exited: flag, reap: flag, pids: list(uint32) },
    ['exec_id', 'pgid', 'started_at', 'child_exited', 'reap', 'pids'],
  ),
  ProcsResponse: object('Every registered exec.', { procs: list(ref('ProcGroup')) }, ['procs']),
  RunHookEnvelope: object("What the platform wraps the caller's payload in.", { runHookPayload: text }, [
    'runHookPayload',
  ]),
  Shell: { description: 'No shell, the standard one, or a named one.', anyOf: [flag, text] },
  StartRequest: object(
    'A command to start, once for each id.',
    {
      exec_id: text,
      command: list(text),
      shell: withDefault(ref('Shell'), false),
      cwd: orNull(text),
      env: withDefault(textMap, {}),
      user: orNull(ref('NameOrId')),
      group: orNull(ref('NameOrId')),
      timeout_sec: orNull({ type: 'number', format: 'double' }),
      stdin: withDefault(flag, false),
      reap_group_on_exit: withDefault(flag, false),
      inherit_image_env: withDefault(flag, false),
      poweroff_on_exit: withDefault(flag, false),
    },
    ['exec_id', 'command'],
  ),
  StartResponse: object('The command runs, or ran before.', { exec_id: text, phase: ref('Phase') }, [
    'exec_id',
    'phase',
  ]),
  StdinRequest: object('Bytes for standard input, and its end.', { data_b64: orNull(text), signal: orNull(text) }, []),
  StdinResponse: object('What was written.', { exec_id: text, written: whole, eof: flag }, [
    'exec_id',
    'written',
    'eof',
  ]),
  StreamKind: { description: 'One of the output streams.', type: 'string', enum: ['stdout', 'stderr'] },
  StreamQuery: object('The first byte wanted.', { offset: orNull(uint64) }, []),
  TunnelQuery: object(
    'The port inside the VM, and whether the tunnel is verified.',
    { port: { ...whole, format: 'uint16', maximum: 65_535 }, identity: withDefault(flag, false) },
    ['port'],
  ),
};
