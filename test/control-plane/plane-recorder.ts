/** The recorded control plane that the scenarios assume (`client-behaviour.md` section 7). */
import type { CredentialsProvider, Http, HttpRequest, Ports, Signer } from 'vmchart/effects';
import { ControlPlane, VmchartError } from 'vmchart/effects';
import type { ControlPlaneOptions } from 'vmchart/effects';
import type { ManualClock } from 'vmchart/adapters';
import { manualClock, memoryJournal, memorySecrets, seededEntropy, staticCredentials } from 'vmchart/adapters';

import { operationOf } from '../helpers/routes.ts';

/** A literal answer, or no answer at all. */
export type Answer =
  | {
      readonly status?: number;
      readonly body?: unknown;
      readonly headers?: Readonly<Record<string, string>>;
      /** How long the answer takes, on the test's clock. */
      readonly takesMs?: number;
    }
  | { readonly lost: string; readonly reason?: string };

/** One recorded send. */
export interface RecordedCall {
  readonly operation: string;
  readonly method: string;
  /** Path and query, as sent. */
  readonly path: string;
  readonly body: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number | null;
  readonly atMs: number;
}

/** Answers each operation from its own queue; the last answer of a queue repeats for ever. */
export class PlaneRecorder implements Http {
  readonly calls: RecordedCall[] = [];
  readonly #queues = new Map<string, Answer[]>();
  readonly #clock: ManualClock;

  constructor(clock: ManualClock, answers: Readonly<Record<string, readonly Answer[]>> = {}) {
    this.#clock = clock;
    for (const [operation, queue] of Object.entries(answers)) this.queue(operation, ...queue);
  }

  queue(operation: string, ...answers: readonly Answer[]): this {
    this.#queues.set(operation, [...(this.#queues.get(operation) ?? []), ...answers]);
    return this;
  }

  /** Names of the operations that were sent, in order. */
  get operations(): string[] {
    return this.calls.map((call) => call.operation);
  }

  count(operation: string): number {
    return this.calls.filter((call) => call.operation === operation).length;
  }

  /** The JSON body of a send. */
  body(index: number): Record<string, unknown> {
    return JSON.parse(this.calls[index]?.body ?? 'null') as Record<string, unknown>;
  }

  async send(request: HttpRequest) {
    const { pathname, search } = new URL(request.url);
    const operation = operationOf(request.method, pathname);
    if (operation === undefined) throw new Error(`no operation is ${request.method} ${pathname}`);
    this.calls.push({
      operation,
      method: request.method,
      path: pathname + search,
      body: typeof request.body === 'string' ? request.body : null,
      headers: request.headers,
      timeoutMs: request.timeoutMs ?? null,
      atMs: this.#clock.now(),
    });
    const queue = this.#queues.get(operation);
    const answer = queue !== undefined && queue.length > 1 ? queue.shift() : queue?.[0];
    if (answer === undefined) throw new Error(`nothing queued for ${operation}`);
    if ('lost' in answer) {
      throw new VmchartError({ wireKind: 'Transport' }, answer.lost, { reason: answer.reason ?? 'transport' });
    }
    if (answer.takesMs !== undefined) await this.#clock.sleep(answer.takesMs);
    const { status = 200, body = {}, headers = {} } = answer;
    return { status, headers, body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)) };
  }

  async openStream(): Promise<never> {
    throw new Error('the control plane has no streams');
  }
}

/** Leaves requests unsigned: signing has tests of its own. */
export const plainSigner: Signer = { sign: async ({ headers }) => ({ ...headers }) };

const testCredentials: CredentialsProvider = staticCredentials({ accessKeyId: 'AKID', secretAccessKey: 'secret' });

/** A control plane over a recorder, on a clock that a sleep moves. */
export function recordedPlane(
  answers: Readonly<Record<string, readonly Answer[]>> = {},
  options: ControlPlaneOptions & { readonly ports?: Partial<Ports>; readonly clock?: ManualClock } = {},
) {
  const { ports: changed, clock = manualClock({ autoAdvance: true }), ...rest } = options;
  const recorder = new PlaneRecorder(clock, answers);
  const ports: Ports = {
    http: recorder,
    signer: plainSigner,
    credentials: testCredentials,
    clock,
    entropy: seededEntropy(7),
    secrets: memorySecrets(),
    journal: memoryJournal(),
    region: 'us-east-1',
    ...changed,
  };
  return { plane: new ControlPlane(ports, rest), recorder, clock, ports };
}

export const imageArn = 'arn:aws:lambda:us-east-1:123456789012:microvm-image:my-img';

/** A MicroVM as the service answers it. */
export function vm(state: string, more: Readonly<Record<string, unknown>> = {}) {
  return {
    microvmId: 'mvm-abc123',
    state,
    endpoint: 'https://mvm-abc123.microvm.us-east-1.amazonaws.com',
    imageArn,
    imageVersion: '1',
    idlePolicy: { maxIdleDurationSeconds: 1800, suspendedDurationSeconds: 600, autoResumeEnabled: false },
    maximumDurationInSeconds: 3600,
    startedAt: 1_786_817_864.601,
    stateReason: null,
    ...more,
  };
}

/** An answer of the service that refuses. */
export function refusal(status: number, name: string | null, message: string | null = 'no'): Answer {
  return { status, body: { message }, headers: name === null ? {} : { 'x-amzn-errortype': name } };
}
