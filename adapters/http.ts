/** HTTP by `got`, loaded on the first request. */
import type { Agent as HttpAgent } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';
import { Readable } from 'node:stream';
import type { Got, Request as GotStream, Response } from 'got';
import { VmchartError } from '../effects/index.ts';
import type { Http, HttpBody, HttpRequest, HttpResponse, HttpStream } from '../effects/index.ts';
import { agentsFor } from './http-agents.ts';
import type { AgentOptions, Agents } from './http-agents.ts';
import { toTransportError } from './http-errors.ts';

/** Settings of {@link gotHttp}. */
export interface GotHttpOptions extends AgentOptions {
  /** Limit for opening a connection, in milliseconds. 10 s by default. */
  readonly connectTimeoutMs?: number;
  /** The largest answer that {@link Http.send} keeps in memory, in bytes. 64 MiB by default. */
  readonly maxBufferedBytes?: number;
}

const defaultConnectTimeoutMs = 10_000;
const defaultMaxBufferedBytes = 64 * 1024 * 1024;

/** Names in lower case, repeated headers joined. */
function headersOf(response: Response): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return headers;
}

function isIterable(body: HttpBody): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && Symbol.asyncIterator in body;
}

/** A body in the form that `got` sends as it is: text, bytes, or a stream that is pulled as the socket drains. */
function sendable(body: HttpBody): string | Uint8Array | Readable {
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  return Readable.from(isIterable(body) ? body : body(), { objectMode: false });
}

/**
 * The real HTTP port: pooled connections, no redirects, no retries of its own, explicit time limits,
 * `HTTPS_PROXY` and `NO_PROXY`, extra certificate authorities. An answer that stops before its end is an error.
 *
 * @example
 * const http = gotHttp({ certificateAuthority: await readFile('corporate-ca.pem') });
 */
export function gotHttp(options: GotHttpOptions = {}): Http {
  const connectTimeoutMs = options.connectTimeoutMs ?? defaultConnectTimeoutMs;
  const maxBufferedBytes = options.maxBufferedBytes ?? defaultMaxBufferedBytes;
  let loading: Promise<{ got: Got; agents: Agents }> | undefined;

  const load = async () => {
    loading ??= Promise.all([import('got'), agentsFor(options)]).then(
      ([{ got }, agents]) => ({
        agents,
        got: got.extend({
          retry: { limit: 0 },
          throwHttpErrors: false,
          followRedirect: false,
          decompress: false,
          timeout: { connect: connectTimeoutMs, secureConnect: connectTimeoutMs },
          headers: { 'user-agent': undefined },
        }),
      }),
      (error: unknown) => {
        loading = undefined;
        throw error;
      },
    );
    return loading;
  };

  /** Starts the exchange and waits for the head of the answer. */
  const begin = async (request: HttpRequest): Promise<{ stream: GotStream; response: Response }> => {
    request.signal?.throwIfAborted();
    const { got, agents } = await load();
    const secure = request.url.startsWith('https:');
    const agent: HttpAgent | HttpsAgent = agents.choose(new URL(request.url), request.freshConnection === true);
    const stream = got.stream(request.url, {
      method: request.method,
      headers: { ...request.headers },
      agent: secure ? { https: agent as HttpsAgent } : { http: agent as HttpAgent },
      ...(request.body === undefined ? {} : { body: sendable(request.body) }),
      timeout: {
        ...(request.timeoutMs === undefined ? {} : { request: request.timeoutMs }),
        ...(request.idleTimeoutMs === undefined ? {} : { socket: request.idleTimeoutMs }),
      },
      ...(request.signal === undefined ? {} : { signal: request.signal }),
    });
    return new Promise((resolve, reject) => {
      stream.once('error', (error) => {
        reject(request.signal?.aborted === true ? request.signal.reason : toTransportError(error, request));
      });
      stream.once('response', (response: Response) => {
        resolve({ stream, response });
      });
      // Without a body nothing ends the writable side of a POST.
      if (request.body === undefined && request.method !== 'GET' && request.method !== 'HEAD') stream.end();
    });
  };

  return {
    async send(request): Promise<HttpResponse> {
      const { stream, response } = await begin(request);
      const chunks: Uint8Array[] = [];
      let size = 0;
      try {
        for await (const chunk of stream as AsyncIterable<Buffer>) {
          size += chunk.length;
          if (size > maxBufferedBytes) {
            throw new VmchartError(
              'Platform',
              `${request.method} ${request.url} was answered with more than ${maxBufferedBytes} bytes.`,
              { reason: 'answer-too-large', status: response.statusCode },
            );
          }
          chunks.push(chunk);
        }
      } catch (error) {
        if (request.signal?.aborted === true) throw request.signal.reason;
        throw toTransportError(error, request);
      }
      return { status: response.statusCode, headers: headersOf(response), body: Buffer.concat(chunks) };
    },

    async openStream(request): Promise<HttpStream> {
      const { stream, response } = await begin(request);
      // An error that comes while nobody reads is kept by the stream and thrown to the next reader.
      stream.on('error', () => {});
      return {
        status: response.statusCode,
        headers: headersOf(response),
        body: (async function* read() {
          try {
            yield* stream as AsyncIterable<Uint8Array>;
          } catch (error) {
            if (request.signal?.aborted === true) throw request.signal.reason;
            throw toTransportError(error, request);
          }
        })(),
        close: () => void stream.destroy(),
      };
    },

    close() {
      void loading?.then(({ agents }) => agents.close());
    },
  };
}
