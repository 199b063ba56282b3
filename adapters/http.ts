/** The HTTP port by `got`, loaded on the first request. */
import type { Http } from '../effects/index.ts';
import type { AgentOptions } from './http-agents.ts';

/** Settings of {@link gotHttp}. */
export interface GotHttpOptions extends AgentOptions {
  /** Limit for opening a connection, in milliseconds. 10 s by default. */
  readonly connectTimeoutMs?: number;
  /** The largest answer that {@link Http.send} keeps in memory, in bytes. 64 MiB by default. */
  readonly maxBufferedBytes?: number;
}

/**
 * The real HTTP port: pooled connections, no redirects, no retries of its own, explicit time limits,
 * `HTTPS_PROXY` and `NO_PROXY`, extra certificate authorities. An answer that stops before its end is an error.
 *
 * @example
 * const http = gotHttp({ certificateAuthority: await readFile('corporate-ca.pem') });
 */
export function gotHttp(options: GotHttpOptions = {}): Http {
  let loading: Promise<Http> | undefined;
  const load = async () => {
    loading ??= import('./http-exchange.ts')
      .then(async ({ loadHttp }) => loadHttp(options))
      .catch((error: unknown) => {
        loading = undefined;
        throw error;
      });
    return loading;
  };
  return {
    async send(request) {
      request.signal?.throwIfAborted();
      return (await load()).send(request);
    },
    async openStream(request) {
      request.signal?.throwIfAborted();
      return (await load()).openStream(request);
    },
    close() {
      void loading?.then(
        (http) => http.close?.(),
        () => {},
      );
    },
  };
}
