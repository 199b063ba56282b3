/** Exchanges by `got`: one answer as a whole, or as a stream. */
import { Readable } from 'node:stream';
import { got as bareGot } from 'got';
import type { Request as GotStream, Response } from 'got';
import { VmchartError } from '../effects/errors.ts';
import type { Http, HttpBody, HttpRequest, HttpResponse, HttpStream } from '../effects/index.ts';
import { agentsFor } from './http-agents.ts';
import type { GotHttpOptions } from './http.ts';
import { toTransportError } from './http-errors.ts';

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

/** The time limits of one exchange, where it has any. */
function limits(request: HttpRequest): { request?: number; socket?: number } {
  return {
    ...(request.timeoutMs === undefined ? {} : { request: request.timeoutMs }),
    ...(request.idleTimeoutMs === undefined ? {} : { socket: request.idleTimeoutMs }),
  };
}

/** What a caller gets to see: its own abort and its own body's error as they were, everything else as `Transport`. */
function failureOf(error: unknown, request: HttpRequest, source: BodySource): unknown {
  if (request.signal?.aborted === true) return request.signal.reason;
  return source.failure ?? toTransportError(error, request);
}

function tooLarge(request: HttpRequest, limit: number, head: Response | undefined): VmchartError {
  return new VmchartError('Platform', `${request.method} was answered with more than ${limit} bytes.`, {
    reason: 'answer-too-large',
    status: head?.statusCode ?? null,
  });
}

function isIterable(body: HttpBody): body is AsyncIterable<Uint8Array> {
  return typeof body === 'object' && Symbol.asyncIterator in body;
}

/**
 * Ends the exchange when the signal aborts. Not handed to `got`, which would listen on for the life of the signal:
 * a wait polls many times under one.
 */
function abortable(stream: GotStream, signal: AbortSignal | undefined): void {
  if (signal === undefined) return;
  const abort = () => void stream.destroy(signal.reason as Error);
  const forget = () => signal.removeEventListener('abort', abort);
  signal.addEventListener('abort', abort, { once: true });
  stream.once('end', forget);
  stream.once('close', forget);
}

/** Remembers the error of a body's own source, which is the caller's and no failure of the connection. */
interface BodySource {
  failure?: unknown;
}

/** A body in the form that `got` sends as it is: text, bytes, or a stream that is pulled as the socket drains. */
function sendable(body: HttpBody, source: BodySource): string | Uint8Array | Readable {
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  const chunks = isIterable(body) ? body : body();
  return Readable.from(
    (async function* watched() {
      try {
        yield* chunks;
      } catch (error) {
        source.failure = error;
        throw error;
      }
    })(),
    { objectMode: false },
  );
}

/** Makes the port; see {@link gotHttp}, which does so on the first request. */
export async function loadHttp(options: GotHttpOptions): Promise<Http> {
  const connectTimeoutMs = options.connectTimeoutMs ?? defaultConnectTimeoutMs;
  const maxBufferedBytes = options.maxBufferedBytes ?? defaultMaxBufferedBytes;
  const agents = await agentsFor(options);
  const got = bareGot.extend({
    retry: { limit: 0 },
    throwHttpErrors: false,
    followRedirect: false,
    decompress: false,
    agent: agents.shared,
    timeout: { lookup: connectTimeoutMs, connect: connectTimeoutMs, secureConnect: connectTimeoutMs },
    headers: { 'user-agent': undefined },
  });

  /** Starts an exchange. Nothing is awaited between the start and the caller's listeners. */
  const begin = (request: HttpRequest, source: BodySource): GotStream => {
    const stream = got.stream(request.url, {
      method: request.method,
      headers: request.headers,
      ...agents.choose(request.url, request.freshConnection === true),
      ...(request.body === undefined ? {} : { body: sendable(request.body, source) }),
      ...(request.timeoutMs === undefined && request.idleTimeoutMs === undefined ? {} : { timeout: limits(request) }),
    });
    abortable(stream, request.signal);
    // Without a body nothing ends the writable side of a POST.
    if (request.body === undefined && request.method !== 'GET' && request.method !== 'HEAD') stream.end();
    return stream;
  };

  return {
    async send(request): Promise<HttpResponse> {
      return new Promise((resolve, reject) => {
        const source: BodySource = {};
        const stream = begin(request, source);
        const chunks: Uint8Array[] = [];
        let size = 0;
        let head: Response | undefined;
        stream.once('response', (response: Response) => {
          head = response;
        });
        // Listening costs half of what iterating would, and small answers are what this is for.
        stream.on('data', (chunk: Uint8Array) => {
          size += chunk.length;
          chunks.push(chunk);
          if (size <= maxBufferedBytes) return;
          reject(tooLarge(request, maxBufferedBytes, head));
          stream.destroy();
        });
        stream.once('end', () => {
          if (head !== undefined)
            resolve({ status: head.statusCode, headers: headersOf(head), body: Buffer.concat(chunks) });
        });
        stream.on('error', (error) => {
          reject(failureOf(error, request, source));
        });
      });
    },

    async openStream(request): Promise<HttpStream> {
      const source: BodySource = {};
      const stream = begin(request, source);
      const response = await new Promise<Response>((resolve, reject) => {
        stream.once('response', resolve);
        // An error that comes later, while nobody reads, is kept by the stream and thrown to the next reader.
        stream.on('error', (error) => {
          reject(failureOf(error, request, source));
        });
      });
      return {
        status: response.statusCode,
        headers: headersOf(response),
        body: (async function* read() {
          try {
            yield* stream as AsyncIterable<Uint8Array>;
          } catch (error) {
            throw failureOf(error, request, source);
          }
        })(),
        close: () => void stream.destroy(),
      };
    },

    close() {
      agents.close();
    },
  };
}
