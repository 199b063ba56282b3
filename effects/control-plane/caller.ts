/** One operation on the wire: sign, send, classify, send again. What an operation means is decided above. */
import { checkedCount, checkedDurationMs } from '../durations.ts';
import { VmchartError, toVmchartError } from '../errors.ts';
import type { HttpRequest, HttpResponse, Ports } from '../ports.ts';
import { classifyRefusal } from './classify.ts';
import { observed } from './diagnostics.ts';
import { controlPlaneUrl } from './regions.ts';
import type { RetryPolicy } from './retry.ts';
import { standardRetry, withRetries } from './retry.ts';

/** A request of one operation, complete but for its signature. */
export interface Call {
  readonly operation: string;
  readonly method: HttpRequest['method'];
  /** Encoded path with its query, from the first slash on. */
  readonly path: string;
  /** Absent for operations that send no body at all. */
  readonly body?: string;
  readonly microvmId?: string;
  /** Texts to keep out of error messages. */
  readonly secrets?: readonly string[];
  /** A launch may be retried after a 403 that names the denied action, when the caller opted in. */
  readonly mayRetryDenied?: boolean;
}

/** How one call may behave. */
export interface CallOptions {
  /** Ends the call; it rejects with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /** Limit for each send, in milliseconds. 60 s when absent. */
  readonly timeoutMs?: number | undefined;
  /** Retries after the first send. The policy's when absent. */
  readonly maxRetries?: number | undefined;
}

const defaultTimeoutMs = 60_000;

/** Sends signed calls to one region's control plane. */
export class Caller {
  readonly #ports: Ports;
  readonly #policy: RetryPolicy;
  readonly #base: string;

  constructor(ports: Ports, policy: RetryPolicy = standardRetry) {
    this.#ports = ports;
    this.#policy = policy;
    this.#base = (ports.endpointUrl ?? controlPlaneUrl(ports.region)).replace(/\/+$/, '');
  }

  /**
   * Sends the call until it succeeds or fails for good.
   *
   * @returns the answer, always a 2xx
   * @throws VmchartError as `client-behaviour.md` 1.5 classifies it
   */
  async send(call: Call, options: CallOptions = {}): Promise<HttpResponse> {
    const { clock, entropy } = this.#ports;
    const { signal, maxRetries } = options;
    if (maxRetries !== undefined) checkedCount('maxRetries', maxRetries);
    if (options.timeoutMs !== undefined) checkedDurationMs('timeoutMs', options.timeoutMs);
    signal?.throwIfAborted();
    return withRetries(() => observed(call, clock, () => this.#sendOnce(call, options)), {
      clock,
      entropy,
      signal,
      policy: maxRetries === undefined ? this.#policy : { ...this.#policy, maxRetries },
      mayRetryDenied: call.mayRetryDenied === true,
    });
  }

  async #sendOnce(call: Call, options: CallOptions): Promise<HttpResponse> {
    const { clock } = this.#ports;
    const { signal } = options;
    const url = this.#base + call.path;
    const headers = await this.#sign(call, url, signal);
    const response = await this.#exchange(call, {
      method: call.method,
      url,
      headers,
      timeoutMs: options.timeoutMs ?? defaultTimeoutMs,
      ...(call.body === undefined ? {} : { body: call.body }),
      ...(signal === undefined ? {} : { signal }),
    });
    if (response.status >= 200 && response.status < 300) return response;
    throw classifyRefusal(response, {
      operation: call.operation,
      wallNowMs: clock.wallNow(),
      microvmId: call.microvmId,
      secrets: call.secrets,
    });
  }

  /** Asks for credentials anew and signs for this moment; a chain that yields nothing is final. */
  async #sign(call: Call, url: string, signal: AbortSignal | undefined): Promise<Record<string, string>> {
    const { clock, credentials, region, signer } = this.#ports;
    const headers: Record<string, string> = { accept: 'application/json', 'user-agent': 'vmchart' };
    if (call.body !== undefined) headers['content-type'] = 'application/json';
    try {
      const identity = await credentials.resolve(signal);
      return await signer.sign(
        { method: call.method, url, headers, ...(call.body === undefined ? {} : { body: call.body }) },
        { region, credentials: identity, atMs: clock.wallNow() },
      );
    } catch (error) {
      signal?.throwIfAborted();
      throw toVmchartError(error, 'Credentials');
    }
  }

  /** Sends, and turns a missing answer into a control-plane failure, which has no wire kind. */
  async #exchange(call: Call, request: HttpRequest): Promise<HttpResponse> {
    try {
      return await this.#ports.http.send(request);
    } catch (error) {
      request.signal?.throwIfAborted();
      const failure = toVmchartError(error, 'Retryable');
      if (failure.wireKind !== 'Transport' && VmchartError.is(error)) throw failure;
      throw new VmchartError('Retryable', `${call.operation} got no answer: ${failure.message}`, {
        reason: failure.reason ?? 'transport',
        microvmId: call.microvmId ?? null,
        cause: error,
      });
    }
  }
}
