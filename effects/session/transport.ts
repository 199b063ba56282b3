/** One request to the daemon: its headers, its deadline, its bounded retries (`client-behaviour.md` 4.2, 4.3). */
import type { Clock, Http, HttpBody, HttpRequest, HttpResponse, HttpStream } from '../ports.ts';
import { VmchartError } from '../errors.ts';
import { isSuccess, quotedBytes, statusError, unreadableBody } from './daemon-status.ts';
import { bounded } from './deadline.ts';
import { guardedStream, truncatedBody } from './guarded-stream.ts';
import type { ProxyAuth } from './proxy-auth.ts';
import { ruleFor, verdictOfAnswer, verdictOfError } from './retry-rule.ts';
import type { RetryRule, Verdict } from './retry-rule.ts';
import { VmPause } from './vm-pause.ts';

/** Which bearer a request carries: the session's own, none at all, or another one. */
export type Bearer = 'session' | 'none' | { readonly token: string };

/** One request, before the session's headers are put on it. */
export interface DaemonRequest {
  readonly method: HttpRequest['method'];
  /** Path and query. */
  readonly path: string;
  /** The caller's own headers, names in lower case. They survive beside the session's. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: HttpBody;
  readonly bearer?: Bearer;
  /** Limit for one exchange, the mint included. Default: the session's. `null`: none. */
  readonly timeoutMs?: number | null | undefined;
  readonly retry?: RetryRule;
  readonly signal?: AbortSignal | undefined;
}

/** What a transport is made of. */
export interface TransportOptions {
  readonly endpoint: string;
  readonly agentToken: string;
  readonly http: Http;
  readonly clock: Clock;
  /** Absent for a daemon that is reached directly. */
  readonly proxyAuth: ProxyAuth | null;
  readonly timeoutMs: number;
  /** How many more times a repeatable request is sent after a retryable failure. */
  readonly retries: number;
  /** How long after a resume the endpoint proxy may still answer 502 or 503, in milliseconds. */
  readonly resumeWindowMs: number;
  /** Asks the control plane for the VM's state. It wakes nothing. */
  readonly vmState?: ((signal?: AbortSignal) => Promise<string>) | undefined;
}

const firstRetryDelayMs = 250;
const longestRetryDelayMs = 4_000;
/** Within the resume window a VM that comes back is asked this many times at most (FC-031). */
const resumeTries = 8;

/** Sends requests to one daemon. Clones of a session share it, and with it the token cache. */
export class Transport {
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly proxyAuth: ProxyAuth | null;
  /** Whether the VM sleeps by our own hand. */
  readonly pause: VmPause;
  readonly #http: Http;
  readonly #agentToken: string;
  readonly #retries: number;
  readonly #resumeWindowMs: number;
  readonly #vmState: TransportOptions['vmState'];
  readonly #closed = new AbortController();
  #endpoint: string;
  #resumedAt: number | null = null;
  #generation = 1;

  constructor(options: TransportOptions) {
    this.#endpoint = options.endpoint;
    this.#agentToken = options.agentToken;
    this.#http = options.http;
    this.clock = options.clock;
    this.pause = new VmPause(options.clock);
    this.proxyAuth = options.proxyAuth;
    this.timeoutMs = options.timeoutMs;
    this.#retries = options.retries;
    this.#resumeWindowMs = options.resumeWindowMs;
    this.#vmState = options.vmState;
  }

  get agentToken(): string {
    return this.#agentToken;
  }

  /** What must not stand in a message: the agent token, the proxy tokens, and a bearer of a request's own. */
  secrets(bearer?: Bearer): string[] {
    const own = typeof bearer === 'object' ? [bearer.token] : [];
    return [this.#agentToken, ...own, ...(this.proxyAuth?.secrets ?? [])];
  }

  get endpoint(): string {
    return this.#endpoint;
  }

  /** `https://host`, or what the caller spelled out; no slash at the end. */
  get baseUrl(): string {
    return endpointUrl(this.#endpoint);
  }

  /** Counts resumes, so that word from before one can be told from word after it. Starts at 1. */
  get generation(): number {
    return this.#generation;
  }

  /** Ends whatever is in flight. Aborted once {@link Transport.close} was called. */
  get closed(): AbortSignal {
    return this.#closed.signal;
  }

  /** Resolves once the VM is not suspended by our own hand: nothing is asked of it before that could wake it. */
  async untilAwake(signal?: AbortSignal): Promise<void> {
    if (!this.pause.paused) return;
    await bounded(
      { clock: this.clock, signals: [signal, this.closed], expired: () => new Error('unreachable') },
      async () => await this.pause.awake,
    );
  }

  /** Points at an endpoint again and drops the token, as a resume does (STATE-8). */
  rebind(endpoint: string): void {
    this.pause.end();
    this.#endpoint = endpoint;
    this.#resumedAt = this.clock.now();
    this.#generation += 1;
    this.proxyAuth?.invalidate();
  }

  /** Rejects everything in flight and everything later with this error. */
  close(reason: Error): void {
    this.#closed.abort(reason);
  }

  /** All headers of one request: the proxy's, then the bearer, then the caller's own. */
  async headers(
    bearer: Bearer = 'session',
    own: Readonly<Record<string, string>> = {},
    signal?: AbortSignal,
  ): Promise<Record<string, string>> {
    const headers = this.proxyAuth === null ? {} : await this.proxyAuth.headers(signal);
    const token = bearer === 'session' ? this.#agentToken : bearer === 'none' ? null : bearer.token;
    if (token !== null) headers['authorization'] = `Bearer ${token}`;
    return { ...headers, ...own };
  }

  /** Sends a request and answers with any status. Repeats it as far as its rule allows. */
  async request(request: DaemonRequest): Promise<HttpResponse> {
    return await this.#retrying(request, (fresh) => this.#once(request, fresh));
  }

  /** Sends a request. @throws the typed error of a status that is no success. */
  async send(request: DaemonRequest): Promise<HttpResponse> {
    const response = await this.request(request);
    if (isSuccess(response.status)) return response;
    throw statusError(request.method, request.path, response, this.secrets(request.bearer), this.pause.paused);
  }

  /** Sends a request and decodes its JSON answer. @throws `ProtocolError` when it cannot be read. */
  async sendJson<T>(
    request: DaemonRequest,
    decode: (body: unknown, headers: HttpResponse['headers']) => T,
  ): Promise<T> {
    const response = await this.send(request);
    try {
      return decode(JSON.parse(Buffer.from(response.body).toString('utf8')), response.headers);
    } catch (error) {
      throw unreadableBody(request.method, request.path, error);
    }
  }

  /**
   * Opens a streamed answer. The head has the request's deadline; the body has none, but silence longer
   * than `idleTimeoutMs` ends it. @throws the typed error of a status that is no success, before any byte. The body
   * of an error is waited for within what is left of the deadline; later the error is told by its status alone.
   */
  async openStream(request: DaemonRequest, idleTimeoutMs: number): Promise<HttpStream> {
    return await this.#retrying(request, async (fresh) => {
      const startedAt = this.clock.now();
      const stream = await this.exchange(
        request,
        async (signal) => await this.headers(request.bearer, request.headers, signal),
        async (http, wire) => await http.openStream(fresh ? { ...wire, freshConnection: true } : wire),
      );
      if (!isSuccess(stream.status)) {
        const leftMs = (this.#limitMs(request) ?? Number.POSITIVE_INFINITY) - (this.clock.now() - startedAt);
        const body = await this.#errorBody(stream, Math.max(0, Math.min(leftMs, idleTimeoutMs)), request.signal);
        const { status, headers } = stream;
        throw statusError(
          request.method,
          request.path,
          { status, headers, body },
          this.secrets(request.bearer),
          this.pause.paused,
        );
      }
      return guardedStream(stream, {
        clock: this.clock,
        idleTimeoutMs,
        what: `${request.method} ${pathOnly(request.path)}`,
        signals: [request.signal, this.closed],
      });
    });
  }

  /** Reads as much of an error's body as its message needs, and no longer than the limit, however slowly it comes. */
  async #errorBody(stream: HttpStream, limitMs: number, signal: AbortSignal | undefined): Promise<Uint8Array> {
    const pieces: Uint8Array[] = [];
    try {
      await bounded(
        { clock: this.clock, limitMs, signals: [signal, this.closed], expired: () => new Error('late') },
        async () => {
          let length = 0;
          for await (const piece of stream.body) {
            pieces.push(piece);
            length += piece.length;
            if (length >= quotedBytes) break;
          }
        },
      );
    } catch {
      // The status has been read: what else the body would have said does not change the class.
      signal?.throwIfAborted();
      this.closed.throwIfAborted();
    } finally {
      stream.close();
    }
    return Buffer.concat(pieces);
  }

  /** Asks the control plane, where there is one to ask, whether the VM is gone: then the error that says so. */
  async goneError(signal?: AbortSignal): Promise<VmchartError | null> {
    const state = await this.#vmState?.(signal).catch(() => null);
    if (state !== 'TERMINATED' && state !== 'TERMINATING') return null;
    return new VmchartError('Interrupted', `The VM is ${state}: what it ran is gone.`, { reason: 'gone' });
  }

  /** Runs an attempt again while the rule allows it; a status is judged like a thrown error. */
  async #retrying<T extends { readonly status: number }>(
    request: DaemonRequest,
    attempt: (fresh: boolean) => Promise<T>,
  ): Promise<T> {
    const rule = ruleFor(request);
    let fresh = false;
    for (let tries = 1; ; tries += 1) {
      let verdict: Verdict;
      let outcome: () => T;
      try {
        const answer = await attempt(fresh);
        outcome = () => answer;
        verdict = verdictOfAnswer(answer);
      } catch (error) {
        outcome = () => {
          throw error;
        };
        verdict = verdictOfError(error);
      }
      if (this.closed.aborted || !this.#mayRepeat(rule, tries, verdict)) return outcome();
      fresh = verdict === 'unavailable';
      await this.sleep(Math.min(firstRetryDelayMs * 2 ** (tries - 1), longestRetryDelayMs), request.signal);
    }
  }

  #mayRepeat(rule: RetryRule, tries: number, verdict: Verdict): boolean {
    if (rule === 'never' || verdict === 'final') return false;
    if (rule === 'connect') return verdict === 'never-sent' && tries <= this.#retries;
    if (verdict === 'unavailable' && this.comingBack) return tries < resumeTries;
    return rule === 'always' && tries <= this.#retries;
  }

  /** Within the window after a resume in which the endpoint proxy may still refuse. */
  get comingBack(): boolean {
    return this.#resumedAt !== null && this.clock.now() - this.#resumedAt <= this.#resumeWindowMs;
  }

  async #once(request: DaemonRequest, fresh: boolean): Promise<HttpResponse> {
    const timeoutMs = this.#limitMs(request);
    const response = await this.exchange(
      request,
      async (signal) => await this.headers(request.bearer, request.headers, signal),
      async (http, wire) =>
        await http.send({
          ...wire,
          ...(timeoutMs === undefined ? {} : { timeoutMs }),
          ...(fresh ? { freshConnection: true } : {}),
        }),
    );
    const expected = declaredLength(response.headers);
    if (request.method !== 'HEAD' && expected !== null && response.body.length < expected) {
      throw truncatedBody(`${request.method} ${pathOnly(request.path)}`, expected, response.body.length);
    }
    return response;
  }

  /**
   * One exchange under one deadline, minting included: makes the headers, then sends. Nothing is sent once the
   * deadline or an abort has come, and a stream that opens too late is closed.
   */
  async exchange<T extends { readonly status: number }>(
    request: Pick<DaemonRequest, 'method' | 'path' | 'body' | 'timeoutMs' | 'signal'>,
    makeHeaders: (signal: AbortSignal) => Promise<Readonly<Record<string, string>>>,
    send: (http: Http, wire: HttpRequest) => Promise<T>,
  ): Promise<T> {
    return await this.#within(request, async (signal) => {
      const headers = await makeHeaders(signal);
      signal.throwIfAborted();
      const askedWhilePaused = this.pause.paused;
      const answer = await send(this.#http, {
        method: request.method,
        url: `${this.baseUrl}${request.path}`,
        headers,
        ...(request.body === undefined ? {} : { body: request.body }),
        signal,
      });
      if (signal.aborted && isStream(answer)) answer.close();
      // A VM that answers has been woken, by its own idle policy or by somebody else.
      if (askedWhilePaused && answer.status < 500) this.pause.end();
      return answer;
    });
  }

  /** Bounds mint and exchange by one deadline, and gives every foreign failure its class. */
  async #within<T>(
    request: Pick<DaemonRequest, 'method' | 'path' | 'timeoutMs' | 'signal'>,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    const what = `${request.method} ${pathOnly(request.path)}`;
    const limitMs = this.#limitMs(request);
    return await bounded(
      {
        clock: this.clock,
        limitMs,
        signals: [request.signal, this.closed],
        expired: () =>
          new VmchartError(
            { wireKind: 'Transport' },
            `${what} took longer than ${(limitMs ?? 0) / 1000} s, authentication with the endpoint proxy included.`,
            { reason: 'timeout' },
          ),
      },
      async (signal) => {
        try {
          return await work(signal);
        } catch (error) {
          throw signal.aborted || VmchartError.is(error) ? error : transportError(what, error);
        }
      },
    );
  }

  #limitMs({ timeoutMs }: Pick<DaemonRequest, 'timeoutMs'>): number | undefined {
    return timeoutMs === undefined ? this.timeoutMs : (timeoutMs ?? undefined);
  }

  /** Sleeps on the transport's clock, until the signal aborts or the transport is closed. */
  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    await bounded(
      { clock: this.clock, signals: [signal, this.closed], expired: () => new Error('unreachable') },
      async (both) => await this.clock.sleep(ms, both),
    );
  }
}

function isStream(answer: object): answer is HttpStream {
  return 'close' in answer;
}

/** A bare host means `https://`; slashes at the end are dropped. */
export function endpointUrl(endpoint: string): string {
  const trimmed = endpoint.replace(/\/+$/, '');
  return /^https?:\/\//i.test(trimmed) ? trimmed : `https://${trimmed}`;
}

function transportError(what: string, error: unknown): VmchartError {
  const why = error instanceof Error ? error.message : String(error);
  return new VmchartError({ wireKind: 'Transport' }, `${what} got no answer: ${why}`, { cause: error });
}

function pathOnly(path: string): string {
  const query = path.indexOf('?');
  return query === -1 ? path : path.slice(0, query);
}

function declaredLength(headers: Readonly<Record<string, string>>): number | null {
  if (headers['content-encoding'] !== undefined) return null;
  const declared = Number(headers['content-length'] ?? NaN);
  return Number.isSafeInteger(declared) && declared >= 0 ? declared : null;
}
