/** The client of one VM's inside. It holds nothing worth keeping: two strings are enough to make it again. */
import type { Clock, Http, HttpResponse } from '../ports.ts';
import { VmchartError } from '../errors.ts';
import { printed } from '../printed.ts';
import { bounded, checkedDurationMs } from './deadline.ts';
import type { Command, StartOptions } from './exec-command.ts';
import { ExecHandle } from './exec-handle.ts';
import type { WaitOptions } from './exec-handle.ts';
import type { ExecResult } from './exec-result.ts';
import { fetchGuest } from './guest-http.ts';
import type { GuestRequest } from './guest-http.ts';
import { readHealth, waitUntilReady } from './health.ts';
import type { Health, ReadyOptions } from './health.ts';
import { KeepAwake } from './keep-awake.ts';
import type { KeepAwakeOptions } from './keep-awake.ts';
import type { LocalFiles } from './local-files.ts';
import type { Schedule } from '../schedule.ts';
import { adaptiveExecSchedule } from '../schedule.ts';
import { listProcs } from './procs.ts';
import type { ProcGroup } from './procs.ts';
import { ProxyAuth, checkedPort } from './proxy-auth.ts';
import { runToCompletion } from './run-to-completion.ts';
import type { RunOptions } from './run-to-completion.ts';
import type { RunResult } from './run-result.ts';
import { SessionBuilder } from './session-builder.ts';
import { SessionFiles } from './session-files.ts';
import { startExec } from './start-exec.ts';
import type { TokenMinter } from './token-minter.ts';
import { Transport } from './transport.ts';
import type { Bearer } from './transport.ts';
import { UploadOwner } from './upload-owner.ts';
import type { UploadOwnership } from './upload-owner.ts';

/** The port of the daemon unless told otherwise. */
export const defaultAgentPort = 9_000;

/** How long one exchange may take by default, in milliseconds, minting included. */
export const defaultRequestTimeoutMs = 60_000;

/** What a launch promised about the VM's way out (`client-behaviour.md` 2.13). */
export type SessionEgressPosture = 'open' | 'unsealed' | 'best-effort' | 'sealed';

/** What a session is made of. */
export interface SessionOptions {
  /** A bare host means `https://`; a plain `http://` is honoured. */
  readonly endpoint: string;
  /** The bearer that the launch delivered. Secret. */
  readonly agentToken: string;
  readonly http?: Http;
  readonly clock?: Clock;
  /** Mints tokens for the endpoint proxy. Without it (and without `proxyAuth`) the daemon is reached directly. */
  readonly minter?: TokenMinter;
  /** A token cache that is there already. It wins over `minter` and keeps its own clock. */
  readonly proxyAuth?: ProxyAuth;
  /** The daemon's port. Default 9000. */
  readonly port?: number;
  /** Limit of one exchange that is no stream, minting included. Default 60 s. */
  readonly timeoutMs?: number;
  readonly egressPosture?: SessionEgressPosture;
  /** How many more times a repeatable request is sent after a retryable failure. Default 2. */
  readonly retries?: number;
  /** How long after a resume a 502 or 503 is retried on a fresh connection, in milliseconds. Default 30 s. */
  readonly resumeWindowMs?: number;
  /** How often a wait for a command polls. Default: adaptive, from 5 ms to 1 s. */
  readonly execPolling?: Schedule;
  /** Reads the VM's state from the control plane: asked when a stream falls silent, to tell a cut from an end. */
  readonly vmState?: (signal?: AbortSignal) => Promise<string>;
  /** Whether the VM runs, as far as the launching side knows: what a keep-awake asks before each poll. */
  readonly isRunning?: () => boolean;
  /** The local disk, for transfers of files and directories. */
  readonly localFiles?: LocalFiles;
  /** Who owns what is uploaded. Default: the daemon's user, root. */
  readonly uploadOwner?: UploadOwnership;
}

/**
 * Commands, files and sockets of one MicroVM.
 *
 * @example
 * const session = new Session({ endpoint, agentToken, http, clock, minter });
 * const { stdout, posixExitCode } = await session.run('uname -a');
 */
export class Session extends SessionFiles {
  readonly port: number;
  readonly egressPosture: SessionEgressPosture;
  /** The transport, for whoever builds another noun on this session. */
  readonly transport: Transport;
  protected readonly uploadOwner: UploadOwner;
  readonly #execPolling: Schedule;
  readonly #isRunning: (() => boolean) | undefined;

  /** @throws VmchartError `Precondition` without an HTTP client or a clock; `InvalidArg` for a bad number. */
  constructor(options: SessionOptions) {
    super(options.localFiles);
    const { http, clock } = options;
    if (http === undefined)
      throw new VmchartError('Precondition', 'A session needs an HTTP client.', { reason: 'no-http' });
    if (clock === undefined) throw new VmchartError('Precondition', 'A session needs a clock.', { reason: 'no-clock' });
    this.port = checkedPort(options.port ?? defaultAgentPort);
    this.egressPosture = options.egressPosture ?? 'unsealed';
    this.#execPolling = options.execPolling ?? adaptiveExecSchedule;
    this.#isRunning = options.isRunning;
    const minted = options.minter && new ProxyAuth({ minter: options.minter, clock, port: this.port });
    this.transport = new Transport({
      endpoint: options.endpoint,
      agentToken: options.agentToken,
      http,
      clock,
      proxyAuth: options.proxyAuth ?? minted ?? null,
      timeoutMs: checkedDurationMs('timeoutMs', options.timeoutMs ?? defaultRequestTimeoutMs),
      retries: options.retries ?? 2,
      resumeWindowMs: options.resumeWindowMs ?? 30_000,
      vmState: options.vmState,
    });
    this.uploadOwner = new UploadOwner(this.transport, options.uploadOwner ?? 'daemon', this.#execPolling);
  }

  /** A session with a daemon that is reached without the endpoint proxy: no proxy headers at all. */
  static direct(options: Omit<SessionOptions, 'minter' | 'proxyAuth'>): Session {
    return new Session(options);
  }

  /**
   * A session with a VM that somebody else launched, proved by one authenticated read before it is handed out.
   *
   * @throws VmchartError `Credentials` when the token is not the VM's (FC-073).
   */
  static async attach(options: SessionOptions & { readonly signal?: AbortSignal }): Promise<Session> {
    const session = new Session(options);
    await session.verifyToken(options.signal);
    return session;
  }

  /** Sets one thing after the other; refuses to build without an HTTP client or a clock. */
  static builder(endpoint: string, agentToken: string): SessionBuilder<Session> {
    return new SessionBuilder({ endpoint, agentToken }, (options) => new Session(options));
  }

  /** The bearer. Readable on purpose, to attach again later; never printed by accident. */
  get agentToken(): string {
    return this.transport.agentToken;
  }

  get endpoint(): string {
    return this.transport.endpoint;
  }

  /** `https://host` of the endpoint. */
  get baseUrl(): string {
    return this.transport.baseUrl;
  }

  /** The token cache, or `null` for a direct session. */
  get proxyAuth(): ProxyAuth | null {
    return this.transport.proxyAuth;
  }

  /** Counts resumes from 1: word from an older generation is of a job that is gone (FC-034). */
  get generation(): number {
    return this.transport.generation;
  }

  /** The headers that a request to the daemon carries. Secret values. */
  async headers(bearer: Bearer = 'session', signal?: AbortSignal): Promise<Record<string, string>> {
    return await this.transport.headers(bearer, {}, signal);
  }

  /**
   * A suspend begins: waits, streams and deadlines hold still until {@link Session.rebind} or
   * {@link Session.unpause}, so that nothing of this session wakes the VM. A call made meanwhile is sent all the same,
   * and an answer to it ends the stillness: the VM was woken.
   */
  pause(): void {
    this.transport.pause.begin();
  }

  /** The VM runs again without having been resumed: nothing but the stillness ends. */
  unpause(): void {
    this.transport.pause.end();
  }

  /** Points at an endpoint again after a resume and drops the cached token (STATE-8). */
  rebind(endpoint: string): void {
    this.transport.rebind(endpoint);
  }

  /** Rejects what is in flight and whatever comes later: the VM is gone. */
  close(reason?: Error): void {
    this.transport.close(
      reason ?? new VmchartError('Interrupted', 'The session was closed: its VM is gone.', { reason: 'gone' }),
    );
  }

  /** One authenticated read. A missing file proves the token as well as one that is there. */
  async verifyToken(signal?: AbortSignal): Promise<void> {
    try {
      await this.transport.send({ method: 'GET', path: '/v1/fs/file?path=%2Fdev%2Fnull', signal });
    } catch (error) {
      if (!(VmchartError.is(error) && error.wireKind === 'NotFound')) throw error;
    }
  }

  /**
   * The proxy headers for a connection of the caller's own to a port: pairs, none for a direct session.
   * The token among them is secret. Sends nothing to the VM.
   */
  async connectHeaders(port: number, signal?: AbortSignal): Promise<[string, string][]> {
    const { proxyAuth } = this.transport;
    if (proxyAuth === null) return [];
    return Object.entries(await this.#boundMint((both) => proxyAuth.headersForPort(port, both), signal));
  }

  /**
   * The subprotocols for a WebSocket of the caller's own: the three of the endpoint proxy, then the application's.
   * `undefined` for a direct session. What the proxy selects says nothing about the guest (FC-068).
   */
  async connectSubprotocols(
    port: number,
    appProtocols: readonly string[] = [],
    signal?: AbortSignal,
  ): Promise<string[] | undefined> {
    const { proxyAuth } = this.transport;
    if (proxyAuth === null) return undefined;
    return [...(await this.#boundMint((both) => proxyAuth.subprotocols(port, both), signal)), ...appProtocols];
  }

  /** Sends a request to a program in the VM, on any port. The agent token is not sent along. */
  async fetch(port: number, request: GuestRequest = {}): Promise<HttpResponse> {
    return await fetchGuest(this.transport, port, request);
  }

  /** Asks the daemon for its health, without a bearer. */
  async health(signal?: AbortSignal): Promise<Health> {
    return await readHealth(this.transport, signal);
  }

  /** Polls health until the daemon is bootstrapped. Default limit 120 s. */
  async waitUntilReady(options: ReadyOptions = {}): Promise<Health> {
    return await waitUntilReady(this.transport, options);
  }

  /**
   * Keeps the VM awake in the background: only requests through the endpoint count as activity, work inside does not.
   *
   * @throws VmchartError `InvalidArg` for a policy that could not keep it awake.
   */
  keepAwake(options: KeepAwakeOptions = {}): KeepAwake {
    return new KeepAwake(this.transport, { isRunning: this.#isRunning, ...options });
  }

  /** The processes of every command that the daemon knows. */
  async procs(signal?: AbortSignal): Promise<readonly ProcGroup[]> {
    return await listProcs(this.transport, signal);
  }

  /** Starts a command and comes back at once. */
  async start(command: Command, options: StartOptions = {}): Promise<ExecHandle> {
    return await startExec(this.transport, command, options, this.#execPolling);
  }

  /** The handle of a command that was started before, here or elsewhere. Sends nothing. */
  exec(execId: string): ExecHandle {
    return new ExecHandle(this.transport, execId, this.#execPolling);
  }

  /** Runs a command to its end under its deadlines. */
  override async run(command: Command, options: RunOptions = {}): Promise<RunResult> {
    return await runToCompletion(this.transport, command, options, this.#execPolling);
  }

  /** Starts a command, waits for it and takes its output: the plain form, which never kills. */
  async runSync(command: Command, options: StartOptions & WaitOptions = {}): Promise<ExecResult> {
    const handle = await this.start(command, options);
    return await handle.waitAndAck(options);
  }

  toJSON(): { endpoint: string; port: number; egressPosture: SessionEgressPosture } {
    return { endpoint: this.endpoint, port: this.port, egressPosture: this.egressPosture };
  }

  [printed](): string {
    return `Session { endpoint: '${this.endpoint}', port: ${this.port}, egressPosture: '${this.egressPosture}' }`;
  }

  async #boundMint<T>(mint: (signal: AbortSignal) => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    const { clock, timeoutMs, closed } = this.transport;
    const expired = () =>
      new VmchartError(
        { wireKind: 'Transport' },
        `Authentication with the endpoint proxy took longer than ${timeoutMs / 1000} s.`,
        { reason: 'timeout' },
      );
    return await bounded({ clock, limitMs: timeoutMs, expired, signals: [signal, closed] }, mint);
  }
}
