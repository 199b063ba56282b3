/** The platform's hooks (`agentd-protocol.md` 3): every call is noted before anything is decided. */
import type { HookName } from '../guest.ts';
import { BodyFailure, readBody, saysJson } from './bodies.ts';
import type { Call, Route } from './router.ts';
import { Refusal, sendEmpty } from './replies.ts';

/** The fixed beginning of every hook's path. */
export const hookPrefix = '/aws/lambda-microvms/runtime/v1';

/** How a workload's own handler of a hook ended. */
export interface HandlerOutcome {
  readonly exit_code: number | null;
  readonly signal: number | null;
  readonly timed_out: boolean;
  readonly duration_ms: number;
  /** Only when it could not run. */
  readonly error?: string;
}

/** One entry of the hook log, as health shows it. */
export interface HookObservation {
  readonly hook: string;
  /** Unix seconds. */
  readonly fired_at: number;
  handler?: HandlerOutcome;
}

/** The first calls are kept, later ones counted. */
export const hookLogLength = 64;

/** Longest envelope that is read, in bytes: the framework's limit for JSON. */
const maxEnvelopeBytes = 2_097_152;

/** See {@link createHooks}. */
export interface Hooks {
  readonly log: readonly HookObservation[];
  readonly dropped: number;
  /** A call of a hook. Throws a {@link Refusal} for anything but 200. */
  call(name: HookName, body: Uint8Array | null): Promise<void>;
  readonly routes: Route[];
}

const names: readonly HookName[] = ['ready', 'validate', 'run', 'suspend', 'resume', 'terminate'];

/**
 * The hooks of one daemon.
 *
 * @param world - `install`: offers the envelope to the bootstrap and says whether this call installed it;
 *   `handle`: runs the workload's own handler, `null` when there is none
 */
export function createHooks(world: {
  wallSeconds(): number;
  install(envelope: Uint8Array): 'installed' | 'replayed';
  handle(name: HookName): Promise<HandlerOutcome | null>;
}): Hooks {
  const log: HookObservation[] = [];
  let dropped = 0;
  let handling: Promise<unknown> = Promise.resolve();

  const note = (name: HookName): HookObservation | null => {
    const entry: HookObservation = { hook: name, fired_at: world.wallSeconds() };
    if (log.length < hookLogLength) log.push(entry);
    else dropped += 1;
    return log.at(-1) === entry ? entry : null;
  };

  /** One handler at a time, and none for calls that the log has no room for. */
  const handle = async (name: HookName, entry: HookObservation | null): Promise<void> => {
    if (entry === null) return;
    const turn = handling.then(() => world.handle(name));
    handling = turn.catch(() => undefined);
    const outcome = await turn;
    if (outcome !== null) entry.handler = outcome;
  };

  const decide = async (name: HookName, entry: HookObservation | null, body: Uint8Array | null): Promise<void> => {
    if (name === 'ready' || name === 'validate') return;
    if (name === 'run') {
      if (body === null) throw new Refusal(400, null);
      if (world.install(body) === 'replayed') return;
    }
    await handle(name, entry);
  };

  const serve = async (name: HookName, { request, response }: Call): Promise<void> => {
    const entry = note(name);
    let body: Buffer | null = null;
    if (name === 'run' && saysJson(request)) {
      body = await readBody(request, maxEnvelopeBytes).catch((error: unknown) => {
        if (error instanceof BodyFailure) return null;
        throw error;
      });
    }
    await decide(name, entry, body);
    sendEmpty(response, 200);
  };

  return {
    log,
    get dropped() {
      return dropped;
    },
    call: (name, body) => decide(name, note(name), body),
    routes: names.map((name) => ({
      path: `${hookPrefix}/${name}`,
      auth: 'none',
      methods: { POST: (call) => serve(name, call) },
    })),
  };
}
