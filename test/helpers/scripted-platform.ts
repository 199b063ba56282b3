/**
 * A control plane of scripted answers and a healthy daemon, behind the Http port.
 *
 * Each operation has a queue of literal answers; the last one repeats for ever; an operation without
 * a queue fails the test. Every request is recorded.
 */
import { manualClock, memoryJournal, memorySecrets, seededEntropy } from '../../adapters/index.ts';
import type { ManualClock } from '../../adapters/index.ts';
import { VmchartError } from '../../effects/index.ts';
import type { Entropy, Http, HttpRequest, HttpResponse, Ports } from '../../effects/index.ts';

import { operationOf } from './routes.ts';

/** One request, as the platform saw it. */
export interface SeenCall {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  readonly body: Record<string, unknown> | null;
  readonly at: number;
}

/** One answer: a body, or a status with a body, or no answer at all. */
export type Answer =
  | Record<string, unknown>
  | { readonly status: number; readonly body?: unknown; readonly headers?: Record<string, string> }
  | 'lost'
  | 'refused';

/** The image ARN of a name, in the account of the scenarios. */
export function imageArn(name: string): string {
  return `arn:aws:lambda:us-east-1:123456789012:microvm-image:${name}`;
}

/** A VM as the scenarios describe it. */
export function vm(state: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    microvmId: 'mvm-abc123',
    state,
    endpoint: 'https://mvm-abc123.microvm.us-east-1.amazonaws.com',
    imageArn: imageArn('agentd'),
    imageVersion: '1',
    idlePolicy: { maxIdleDurationSeconds: 1800, suspendedDurationSeconds: 600, autoResumeEnabled: false },
    maximumDurationInSeconds: 3600,
    startedAt: 1_790_000_000,
    ...more,
  };
}

/** A refusal of the service. */
export function refusal(status: number, name: string, message: string | null = name): Answer {
  return { status, body: { message }, headers: { 'x-amzn-errortype': name } };
}

/** Lets promise callbacks run to rest. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) {
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  }
}

/** The scripted platform and the ports that lead to it. */
export class ScriptedPlatform implements Http {
  readonly calls: SeenCall[] = [];
  readonly daemonCalls: string[] = [];
  readonly warnings: string[] = [];
  readonly clock: ManualClock;
  readonly ports: Ports;
  /** Answers of `GET /v1/health`, the last one repeating: a status, or `bootstrapped`. */
  health: (number | 'bootstrapped')[] = ['bootstrapped'];
  readonly #queues = new Map<string, Answer[]>();
  readonly #held = new Map<string, { readonly promise: Promise<void>; readonly open: () => void }>();

  constructor(options: { entropy?: Entropy; autoAdvance?: boolean; region?: string } = {}) {
    this.clock = manualClock({ autoAdvance: options.autoAdvance ?? true });
    this.ports = {
      http: this,
      signer: { sign: ({ headers }) => Promise.resolve({ ...headers, authorization: 'signed' }) },
      credentials: {
        resolve: () => Promise.resolve({ accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'planted-secret-key' }),
      },
      clock: this.clock,
      entropy: options.entropy ?? seededEntropy(7),
      secrets: memorySecrets(),
      journal: memoryJournal(),
      region: options.region ?? 'us-east-1',
      warn: (text) => void this.warnings.push(text),
    };
  }

  /** Replaces the queue of an operation. */
  answer(operation: string, ...answers: Answer[]): this {
    this.#queues.set(operation, [...answers]);
    return this;
  }

  /** Appends to the queue of an operation. */
  also(operation: string, ...answers: Answer[]): this {
    this.#queues.set(operation, [...(this.#queues.get(operation) ?? []), ...answers]);
    return this;
  }

  /** Holds the answers of an operation back until {@link release}. */
  hold(operation: string): this {
    let open = () => {};
    const promise = new Promise<void>((resolve) => {
      open = resolve;
    });
    this.#held.set(operation, { promise, open });
    return this;
  }

  /** Lets the held answers of an operation go. */
  release(operation: string): void {
    this.#held.get(operation)?.open();
    this.#held.delete(operation);
  }

  /** How often an operation was called, or all of them together. */
  count(operation?: string): number {
    return operation === undefined
      ? this.calls.length
      : this.calls.filter((call) => call.operation === operation).length;
  }

  /** The operations called, in order. */
  get operations(): string[] {
    return this.calls.map((call) => call.operation);
  }

  async send(request: HttpRequest): Promise<HttpResponse> {
    const url = new URL(request.url);
    if (url.pathname.startsWith('/v1/')) return this.#daemon(request, url);
    const operation = operationOf(request.method, url.pathname);
    if (operation === undefined) throw new Error(`no such route: ${request.method} ${request.url}`);
    this.calls.push({
      operation,
      method: request.method,
      path: url.pathname + url.search,
      body: typeof request.body === 'string' ? (JSON.parse(request.body) as Record<string, unknown>) : null,
      at: this.clock.now(),
    });
    const queue = this.#queues.get(operation);
    if (queue === undefined) throw new Error(`the test gave no answer for ${operation}`);
    const answer = queue.length > 1 ? queue.shift() : queue[0];
    await this.#held.get(operation)?.promise;
    request.signal?.throwIfAborted();
    if (answer === 'lost' || answer === 'refused' || answer === undefined) {
      throw new VmchartError({ wireKind: 'Transport' }, 'socket hang up', {
        reason: answer === 'refused' ? 'connect' : 'response',
      });
    }
    return toResponse(answer);
  }

  openStream(): never {
    throw new Error('this daemon has no streams');
  }

  #daemon(request: HttpRequest, url: URL): HttpResponse {
    this.daemonCalls.push(`${request.method} ${url.pathname}`);
    const next = this.health.length > 1 ? this.health.shift() : this.health[0];
    if (url.pathname !== '/v1/health' || next === undefined) {
      throw new VmchartError({ wireKind: 'Transport' }, 'connection refused', { reason: 'connect' });
    }
    if (typeof next === 'number') return toResponse({ status: next, body: '' });
    return toResponse({ version: '1.3.0', bootstrapped: true, identity_degraded: false, identity_repaired: true });
  }
}

function toResponse(answer: Record<string, unknown>): HttpResponse {
  const explicit = typeof answer['status'] === 'number';
  const body = explicit ? (answer['body'] ?? {}) : answer;
  return {
    status: explicit ? (answer['status'] as number) : 200,
    headers: { 'content-type': 'application/json', ...(explicit ? (answer['headers'] as Record<string, string>) : {}) },
    body: new TextEncoder().encode(typeof body === 'string' ? body : JSON.stringify(body)),
  };
}

/** The platform of the scenarios: a launch is accepted, RUNNING at the first read, and tokens can be minted. */
export function launchAnswers(platform = new ScriptedPlatform()): ScriptedPlatform {
  return platform
    .answer('RunMicrovm', vm('PENDING'))
    .answer('GetMicrovm', vm('RUNNING'))
    .answer('CreateMicrovmAuthToken', { authToken: { 'X-aws-proxy-auth': 'planted-proxy-token' } });
}
