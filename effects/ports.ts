/**
 * The ports: everything that is not a pure computation reaches the outside through one of these.
 *
 * Their real implementations are in `adapters/`; tests bring recorders and simulated clocks.
 */
import type { JournalRecord } from '../machines/index.ts';
import type { LocalFiles } from './session/local-files.ts';

/** Time. One lifecycle reads one clock (`client-behaviour.md` 0.4, clock rule). */
export interface Clock {
  /** A monotonic reading in milliseconds. Only differences mean anything. */
  now(): number;
  /** Wall time in Unix milliseconds. */
  wallNow(): number;
  /** Resolves after `ms` milliseconds; rejects with the signal's reason when aborted. Long times are chunked. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /**
   * Calls `fire` once after `ms` milliseconds unless the returned function was called before.
   * It is what deadlines are made of, which are mostly cancelled: unlike a sleep it never moves
   * a simulated clock. Absent: made from `sleep`.
   */
  alarm?(ms: number, fire: () => void): () => void;
}

/** Randomness fit for secrets. */
export interface Entropy {
  /** Fills the bytes, or throws when the pool is unavailable. */
  fill(bytes: Uint8Array): void;
}

/** AWS credentials. Secret: never in a log, an error or a snapshot. */
export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
  /** Unix milliseconds after which they no longer work. */
  readonly expiresAtMs?: number;
}

/** Where credentials come from. Asked anew before each send; caching is the implementation's. */
export interface CredentialsProvider {
  /** Resolves credentials, or throws a `Credentials` error when the chain yields nothing. */
  resolve(signal?: AbortSignal): Promise<Credentials>;
}

/** A request body: bytes, or a factory that makes the same bytes again, or a stream that can be sent once. */
export type HttpBody = Uint8Array | string | (() => AsyncIterable<Uint8Array>) | AsyncIterable<Uint8Array>;

/** One HTTP request. Header names in lower case; no redirects are ever followed. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'HEAD';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: HttpBody;
  /** Limit for the whole exchange, in milliseconds. Absent for streams. */
  readonly timeoutMs?: number;
  /** Limit for silence between two chunks of a streamed answer, in milliseconds. */
  readonly idleTimeoutMs?: number;
  /** Sends on a new connection instead of a pooled one. */
  readonly freshConnection?: boolean;
  readonly signal?: AbortSignal;
}

/** An answer read to its end. */
export interface HttpResponse {
  readonly status: number;
  /** Names in lower case; repeated headers joined with `, `. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** An answer whose body is read as it comes. Leaving the iteration early closes the connection. */
export interface HttpStream {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: AsyncIterable<Uint8Array>;
  /** Drops the connection. Safe to call more than once. */
  close(): void;
}

/**
 * HTTP. An implementation answers with any status and throws only when there is none: then a
 * `VmchartError` of kind `Retryable`, wire kind `Transport` (`reason`: `connect` when nothing was sent).
 */
export interface Http {
  send(request: HttpRequest): Promise<HttpResponse>;
  openStream(request: HttpRequest): Promise<HttpStream>;
  /** Closes idle connections, so that a process can end. */
  close?(): void;
}

/** Signs a control-plane request (SigV4, service `lambda`). */
export interface Signer {
  /** Returns all headers to send, `authorization` among them. */
  sign(
    request: {
      readonly method: string;
      readonly url: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body?: string;
    },
    options: { readonly region: string; readonly credentials: Credentials; readonly atMs: number },
  ): Promise<Record<string, string>>;
}

/** Keeps what must not be in a machine. A reference is an opaque text that is safe to show. */
export interface Secrets {
  put(ref: string, value: string): Promise<void>;
  get(ref: string): Promise<string | null>;
  remove(ref: string): Promise<void>;
}

/** Remembers intents, so that a process that dies at any instruction can adopt what it started. */
export interface Journal {
  /** Replaces the record of this sandbox. Resolves when it is as durable as the implementation promises. */
  write(record: JournalRecord): Promise<void>;
  read(sandboxId: string): Promise<JournalRecord | null>;
  list(): Promise<readonly JournalRecord[]>;
  remove(sandboxId: string): Promise<void>;
}

/** What a lifecycle needs from the outside. */
export interface Ports {
  readonly http: Http;
  readonly signer: Signer;
  readonly credentials: CredentialsProvider;
  readonly clock: Clock;
  readonly entropy: Entropy;
  readonly secrets: Secrets;
  readonly journal: Journal;
  /** Where the control plane is. */
  readonly region: string;
  /** Overrides `https://lambda.<region>.amazonaws.com`. */
  readonly endpointUrl?: string;
  /** The local disk, for transfers of files and directories. */
  readonly localFiles?: LocalFiles;
  /** Receives the rare warning that has no caller to throw at, such as an abandoned VM. Silent by default. */
  readonly warn?: (text: string) => void;
}
