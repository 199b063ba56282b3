/** The doubles that the session scenarios assume: a daemon with a queue of replies, and a minter that counts. */
import type { Http, HttpRequest, TokenMinter } from 'vmchart/effects';
import { Session, VmchartError, referenceExecSchedule } from 'vmchart/effects';
import type { ManualClock } from 'vmchart/adapters';
import { manualClock } from 'vmchart/adapters';

/** One reply of the recorded daemon. */
export type Reply =
  | { readonly status?: number; readonly body?: unknown; readonly headers?: Record<string, string> }
  /** Chunks of a streamed body; `stall` never ends it, `cut` ends it with an error. */
  | {
      readonly chunks: readonly (string | Uint8Array)[];
      readonly after?: 'end' | 'stall' | 'cut';
      readonly headers?: Record<string, string>;
    }
  | { readonly cut: string; readonly reason?: string };

/** A daemon that answers what it was told to, in order, and remembers what it was asked. */
export class DaemonRecorder implements Http {
  readonly requests: HttpRequest[] = [];
  /** How many streams are open. */
  openStreams = 0;
  readonly #replies: Reply[];

  constructor(...replies: readonly Reply[]) {
    this.#replies = [...replies];
  }

  push(...replies: readonly Reply[]): void {
    this.#replies.push(...replies);
  }

  /** Method and path of each request. */
  get routes(): string[] {
    return this.requests.map(({ method, url }) => `${method} ${url.replace(/^https?:\/\/[^/]+/, '')}`);
  }

  /** The JSON body of a request. */
  json(index: number): Record<string, unknown> {
    return JSON.parse(String(this.requests.at(index)?.body)) as Record<string, unknown>;
  }

  async send(request: HttpRequest) {
    const reply = this.#next(request);
    if ('chunks' in reply) throw new Error('a stream was queued for a plain request');
    const { status = 200, body = '', headers = {} } = reply;
    const bytes =
      body instanceof Uint8Array ? body : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body), 'utf8');
    return { status, headers, body: bytes };
  }

  async openStream(request: HttpRequest) {
    const reply = this.#next(request);
    this.openStreams += 1;
    let open = true;
    const close = () => {
      if (open) this.openStreams -= 1;
      open = false;
    };
    if ('chunks' in reply) {
      const { chunks, after = 'end', headers = {} } = reply;
      return { status: 200, headers, body: bodyOf(chunks, after), close };
    }
    const { status = 200, body = '', headers = {} } = reply;
    return { status, headers, body: bodyOf([typeof body === 'string' ? body : JSON.stringify(body)], 'end'), close };
  }

  #next(request: HttpRequest): Exclude<Reply, { readonly cut: string }> {
    this.requests.push(request);
    const reply = this.#replies.shift();
    if (reply === undefined) throw new Error(`no reply left for ${request.method} ${request.url}`);
    if ('cut' in reply) {
      throw new VmchartError({ wireKind: 'Transport' }, reply.cut, { reason: reply.reason ?? 'cut' });
    }
    return reply;
  }
}

async function* bodyOf(
  chunks: readonly (string | Uint8Array)[],
  after: 'end' | 'stall' | 'cut',
): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield typeof chunk === 'string' ? Buffer.from(chunk, 'utf8') : chunk;
  if (after === 'cut') throw new VmchartError({ wireKind: 'Transport' }, 'connection reset', { reason: 'cut' });
  if (after === 'stall') await new Promise<never>(() => undefined);
}

/** Mints `jwe-0`, `jwe-1`, … */
export class CountingMinter implements TokenMinter {
  readonly requested: (readonly number[])[] = [];
  readonly #failures: unknown[];
  #minted = 0;

  /** Fails with each of these first. */
  constructor(...failures: readonly unknown[]) {
    this.#failures = [...failures];
  }

  async mintForPorts(ports: readonly number[]): Promise<Record<string, string>> {
    this.requested.push(ports);
    const failure = this.#failures.shift();
    if (failure !== undefined) throw failure;
    const token = `jwe-${this.#minted}`;
    this.#minted += 1;
    return { 'X-aws-proxy-auth': token };
  }
}

/** The test session of the reference: endpoint, token, counting minter, port 9000, one poll a second. */
export function testSession(
  http: Http,
  options: {
    clock?: ManualClock;
    minter?: TokenMinter | null;
    timeoutMs?: number;
    agentToken?: string;
    vmState?: () => Promise<string>;
  } = {},
): { session: Session; clock: ManualClock; minter: TokenMinter | null } {
  const clock = options.clock ?? manualClock({ autoAdvance: true });
  const minter = options.minter === undefined ? new CountingMinter() : options.minter;
  const session = new Session({
    endpoint: 'https://vm.example',
    agentToken: options.agentToken ?? 'agent-token-abcdef',
    http,
    clock,
    execPolling: referenceExecSchedule,
    ...(minter === null ? {} : { minter }),
    ...(options.timeoutMs === undefined ? {} : { timeoutMs: options.timeoutMs }),
    ...(options.vmState === undefined ? {} : { vmState: options.vmState }),
  });
  return { session, clock, minter };
}

/** A health answer. */
export function healthBody(more: Record<string, unknown> = {}): Record<string, unknown> {
  return { version: '0.12.0', bootstrapped: true, identity_degraded: false, identity_repaired: true, ...more };
}

/** A poll-shaped answer. */
export function execBody(phase: string, more: Record<string, unknown> = {}, execId = 'e1'): Record<string, unknown> {
  return { exec_id: execId, phase, ...more };
}

/** An outcome's members. */
export function outcome(exitCode: number | null, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    exit_code: exitCode,
    signal: null,
    timed_out: false,
    stdout: '',
    stderr: '',
    truncated: false,
    writers_may_be_alive: false,
    ...more,
  };
}

/** What a promise rejected with. Fails when it did not. */
export async function rejection(work: Promise<unknown>): Promise<VmchartError> {
  try {
    await work;
  } catch (error) {
    return error as VmchartError;
  }
  throw new Error('it resolved');
}

/** One event of the output stream as the daemon frames it. */
export const frame = {
  output: (offset: number, text: string | Uint8Array, stream = 'stdout') =>
    `event: output\ndata: ${JSON.stringify({ offset, stream, output: Buffer.from(text as string).toString('base64') })}\n\n`,
  gap: (from: number, to: number) => `event: gap\ndata: ${JSON.stringify({ from, to })}\n\n`,
  exit: (offset: number, exitCode: number | null = 0, more: Record<string, unknown> = {}) =>
    `event: exit\ndata: ${JSON.stringify({ exit_code: exitCode, signal: null, timed_out: false, truncated: false, writers_may_be_alive: false, offset, ...more })}\n\n`,
};
