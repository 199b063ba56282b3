/** The settings of the daemon (`agentd-protocol.md` 6 and 16). Durations in milliseconds, sizes in bytes. */

import type { TunnelGeneration, TunnelPrologue } from '../../tunnel-terms.ts';

/** Everything that can be set about a daemon. */
export interface DaemonSettings {
  /** Sent as health `version` and in the version header. */
  readonly version: string;
  readonly port: number;
  readonly maxBodyBytes: number;
  /** How much of a refused request's body is read before the connection is closed. */
  readonly maxDrainBytes: number;
  /** What a poll shows of each output stream. */
  readonly maxOutputBytes: number;
  readonly outputLingerMs: number;
  /** How long an acknowledged exec is kept. */
  readonly execTtlMs: number;
  /** The replay window of an exec, both streams together. */
  readonly streamReplayBytes: number;
  /** How many messages an attached reader may be behind before it gets a gap. */
  readonly streamChannelCapacity: number;
  readonly sseKeepaliveMs: number;
  readonly maxStdinWriteBytes: number;
  readonly stdinWriteTimeoutMs: number;
  readonly killGraceMs: number;
  /** 0: writes are never refused for lack of space. */
  readonly diskReserveBytes: number;
  readonly repairIdentity: boolean;
  readonly hookHandlerTimeoutMs: number;
  /** User of execs that name none; `null`: the daemon's own. An empty text refuses such execs. */
  readonly defaultUser: string | null;
  readonly maxTarBytes: number;
  readonly maxTarMembers: number;
}

/** Which release a daemon imitates where releases differ (`agentd-protocol.md` 19). */
export interface DaemonGeneration {
  /** `0.12`: empty prologue, no confirmation. `1.x`: a prologue by route, version and port, and a confirmation. */
  readonly tunnel: TunnelGeneration;
  /** In place of the generation's own prologue, whose bytes are not public. */
  readonly tunnelPrologue?: TunnelPrologue;
  /** Whether health advertises that `poweroff_on_exit` works, and it does. */
  readonly powerOff: boolean;
}

/** See the members; all have defaults. */
export interface DaemonOptions {
  readonly settings?: Partial<DaemonSettings>;
  readonly generation?: Partial<DaemonGeneration>;
  /** A free-space reading in place of the real one; `null` for "cannot be measured". */
  readonly diskAvailableBytes?: (path: string) => number | null;
  /** What happens to the child of an attached reader that falls behind: lose output, as agentd does, or wait. */
  readonly slowReaders?: 'gap' | 'hold';
}

const MiB = 1_048_576;

/** The defaults of release 0.12. */
export const defaultSettings: DaemonSettings = {
  version: '0.12.0',
  port: 9_000,
  maxBodyBytes: 512 * MiB,
  maxDrainBytes: 65_536,
  maxOutputBytes: 8 * MiB,
  outputLingerMs: 5_000,
  execTtlMs: 900_000,
  streamReplayBytes: MiB,
  streamChannelCapacity: 256,
  sseKeepaliveMs: 15_000,
  maxStdinWriteBytes: MiB,
  stdinWriteTimeoutMs: 5_000,
  killGraceMs: 10_000,
  diskReserveBytes: 256 * MiB,
  repairIdentity: true,
  hookHandlerTimeoutMs: 20_000,
  defaultUser: null,
  maxTarBytes: 8_192 * MiB,
  maxTarMembers: 100_000,
};

const truths: Readonly<Record<string, boolean>> = {
  '1': true,
  true: true,
  yes: true,
  on: true,
  '0': false,
  false: false,
  no: false,
  off: false,
};

/** An unsigned decimal, or `null` for anything else. */
function unsigned(text: string): number | null {
  const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : null;
  return value;
}

type Reader = (text: string) => Partial<DaemonSettings> | null;

const bytes = (name: keyof DaemonSettings): Reader => {
  return (text) => {
    const value = unsigned(text);
    return value === null ? null : { [name]: value };
  };
};

const seconds = (name: keyof DaemonSettings, least = 0, most = Number.MAX_SAFE_INTEGER): Reader => {
  return (text) => {
    const value = unsigned(text);
    return value === null ? null : { [name]: Math.min(most, Math.max(least, value)) * 1_000 };
  };
};

const variables: Readonly<Record<string, Reader>> = {
  AGENTD_PORT: (text) => {
    const port = unsigned(text);
    return port === null || port === 0 || port > 65_535 ? null : { port };
  },
  AGENTD_MAX_BODY_BYTES: bytes('maxBodyBytes'),
  AGENTD_MAX_OUTPUT_BYTES: bytes('maxOutputBytes'),
  AGENTD_OUTPUT_LINGER_SECS: seconds('outputLingerMs'),
  AGENTD_EXEC_TTL_SECS: seconds('execTtlMs'),
  AGENTD_STREAM_BUFFER_BYTES: bytes('streamReplayBytes'),
  AGENTD_STREAM_CHANNEL_CAPACITY: (text) => {
    const capacity = unsigned(text);
    return capacity === null || capacity === 0 ? null : { streamChannelCapacity: capacity };
  },
  AGENTD_SSE_KEEPALIVE_SECS: seconds('sseKeepaliveMs', 1),
  AGENTD_MAX_STDIN_WRITE_BYTES: bytes('maxStdinWriteBytes'),
  AGENTD_DISK_RESERVE_BYTES: bytes('diskReserveBytes'),
  AGENTD_REPAIR_IDENTITY: (text) => {
    const value = truths[text.toLowerCase()];
    return value === undefined ? null : { repairIdentity: value };
  },
  AGENTD_HOOK_HANDLER_TIMEOUT_SECS: seconds('hookHandlerTimeoutMs', 1, 55),
  AGENTD_DEFAULT_USER: (text) => ({ defaultUser: text }),
};

/** The settings of one VM: defaults, then options, then its environment. What cannot be read changes nothing. */
export function readSettings(
  environment: Readonly<Record<string, string>>,
  options: Partial<DaemonSettings> = {},
): DaemonSettings {
  let settings: DaemonSettings = { ...defaultSettings, ...options };
  for (const [name, read] of Object.entries(variables)) {
    const text = environment[name];
    const change = text === undefined ? null : read(text);
    if (change !== null) settings = { ...settings, ...change };
  }
  return settings;
}

/** The environment that execs may inherit: the image's, without the daemon's own settings. */
export function imageEnvironment(environment: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !name.startsWith('AGENTD_')));
}
