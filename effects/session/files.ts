/** Single files and archives of the VM (`client-behaviour.md` 4.13). */
import type { HttpBody, HttpStream } from '../ports.ts';
import { VmchartError } from '../errors.ts';
import { quoted } from '../quoted.ts';
import { checkCap } from './caps.ts';
import { watchedUpload } from './stalled-upload.ts';
import type { Transport } from './transport.ts';

/** What is uploaded: text, bytes, a factory of the same bytes, or bytes that come only once (and are not retried). */
export type UploadBody = string | Uint8Array | (() => AsyncIterable<Uint8Array>) | AsyncIterable<Uint8Array>;

/** Tells how far a transfer is. */
export interface Progress {
  readonly bytes: number;
  /** `null` when nobody knows. */
  readonly totalBytes: number | null;
}

/** How a transfer is made. */
export interface TransferOptions {
  readonly onProgress?: ((progress: Progress) => void) | undefined;
  /** The transfer ends when nothing moves for this long, in milliseconds. Default 60 s. */
  readonly stallMs?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** How a file is downloaded. */
export interface DownloadOptions extends TransferOptions {
  /**
   * Ends the transfer, with reason `file-too-large`, when the file is larger than this many bytes. The VM is not
   * trusted: a file can grow while it is read, and never end. Default 64 MiB for what is read into memory, else no
   * cap; `Infinity` for none.
   */
  readonly maxBytes?: number | undefined;
}

/** How a file is uploaded. */
export interface UploadOptions extends TransferOptions {
  /** Permission bits, as text such as `0644` or as a number such as `0o644`. Default: what the daemon creates. */
  readonly mode?: string | number | undefined;
  /** The size of a body that is a stream: sent ahead, so that a file that is too large is refused at once. */
  readonly sizeBytes?: number | undefined;
}

/** How an archive is uploaded. */
export type ArchiveOptions = Omit<UploadOptions, 'mode'>;

/** The lines of a file to read: 1-based and inclusive on both sides. */
export interface LineRange {
  readonly startLine?: number;
  /** Beyond the last line reads to the end. */
  readonly endLine?: number;
}

const fileRoute = '/v1/fs/file';
const archiveRoute = '/v1/fs/tar';
const defaultStallMs = 60_000;
/** Bytes above this are sent in pieces whose progress is watched, under no limit for the whole. */
const wholeBytes = 1024 * 1024;
const pieceBytes = 256 * 1024;
/** What is read into memory may hold so many bytes by default. */
const defaultMaxBytesInMemory = 64 * 1024 * 1024;

/** Writes one file, its parents included. A failed upload is repeated only if its body can be. */
export async function uploadFile(
  transport: Transport,
  path: string,
  data: UploadBody,
  options: UploadOptions = {},
): Promise<void> {
  const mode = options.mode === undefined ? null : octal(options.mode);
  const query = pathQuery(fileRoute, path) + (mode === null ? '' : `&mode=${mode}`);
  await put(transport, query, 'application/octet-stream', data, options);
}

/** Unpacks a tar archive into a directory of the VM. The archive is not looked into. */
export async function uploadTar(
  transport: Transport,
  remoteDir: string,
  archive: UploadBody,
  options: ArchiveOptions = {},
): Promise<void> {
  await put(transport, pathQuery(archiveRoute, remoteDir), 'application/x-tar', archive, options);
}

/**
 * Opens a file for reading as it comes. Leaving the iteration closes the connection.
 *
 * @throws VmchartError `InvalidArg` for a cap that is no number; `Protocol`, reason `file-too-large`, at once when the
 *   file says that it is larger than `maxBytes`, and while it is read when it does not.
 */
export async function openRemoteFile(
  transport: Transport,
  path: string,
  options: DownloadOptions & LineRange = {},
): Promise<HttpStream> {
  const { maxBytes } = options;
  checkCap('maxBytes', maxBytes);
  const query = pathQuery(fileRoute, path) + lineQuery(options);
  const stream = await open(transport, query, 'application/octet-stream', options);
  if (maxBytes === undefined) return stream;
  const tooLarge = () =>
    new VmchartError('Protocol', `${quoted(path)} is larger than the cap of ${maxBytes} bytes.`, {
      reason: 'file-too-large',
      suggestions: ['Raise maxBytes, or fetch the file as a stream with openFile() or downloadTo().'],
    });
  if (Number(stream.headers['content-length'] ?? NaN) > maxBytes) {
    stream.close();
    throw tooLarge();
  }
  return { ...stream, body: capped(stream.body, maxBytes, tooLarge) };
}

/** Opens an archive of a directory for reading as it comes. */
export async function openRemoteTar(
  transport: Transport,
  remoteDir: string,
  options: TransferOptions = {},
): Promise<HttpStream> {
  return await open(transport, pathQuery(archiveRoute, remoteDir), 'application/x-tar', options);
}

/** Reads a whole file, or some lines of it, into memory: no more than 64 MiB unless `maxBytes` says otherwise. */
export async function downloadFile(
  transport: Transport,
  path: string,
  options: DownloadOptions & LineRange = {},
): Promise<Uint8Array> {
  const { maxBytes = defaultMaxBytesInMemory } = options;
  const stream = await openRemoteFile(transport, path, { ...options, maxBytes });
  const pieces: Uint8Array[] = [];
  for await (const piece of stream.body) pieces.push(piece);
  return Buffer.concat(pieces);
}

/** Whether there is such a file. Only the daemon's own word for "not there" is `false`; all else is an error (FC-100). */
export async function fileExists(transport: Transport, path: string, signal?: AbortSignal): Promise<boolean> {
  const query = pathQuery(fileRoute, path);
  try {
    const stream = await open(transport, query, 'application/octet-stream', { signal });
    stream.close();
    return true;
  } catch (error) {
    if (VmchartError.is(error) && error.wireKind === 'NotFound' && error.reason !== 'unexpected-response') return false;
    throw error;
  }
}

async function put(
  transport: Transport,
  path: string,
  contentType: string,
  data: UploadBody,
  options: ArchiveOptions,
): Promise<void> {
  const { body, sizeBytes, watched } = sendable(data, options.sizeBytes);
  const headers = {
    'content-type': contentType,
    ...(sizeBytes === null ? {} : { 'content-length': String(sizeBytes) }),
  };
  const request = { method: 'PUT', path, headers, retry: 'always', signal: options.signal } as const;
  if (!watched) {
    await transport.send({ ...request, body: body as Uint8Array });
    options.onProgress?.({ bytes: sizeBytes ?? 0, totalBytes: sizeBytes });
    return;
  }
  const { onProgress } = options;
  const upload = watchedUpload(
    transport.clock,
    options.stallMs ?? defaultStallMs,
    `PUT ${path}`,
    onProgress && ((bytes) => onProgress({ bytes, totalBytes: sizeBytes })),
    options.signal,
  );
  try {
    const source = body as Exclude<HttpBody, string | Uint8Array>;
    const observed = typeof source === 'function' ? () => upload.watch(source()) : upload.watch(source);
    await transport.send({ ...request, body: observed, timeoutMs: null, signal: upload.signal });
  } finally {
    upload.release();
  }
}

function sendable(
  data: UploadBody,
  sizeBytes: number | undefined,
): { body: HttpBody; sizeBytes: number | null; watched: boolean } {
  if (typeof data === 'string' || data instanceof Uint8Array) {
    const bytes = typeof data === 'string' ? Buffer.from(data, 'utf8') : data;
    if (bytes.length <= wholeBytes) return { body: bytes, sizeBytes: bytes.length, watched: false };
    return { body: () => inPieces(bytes), sizeBytes: bytes.length, watched: true };
  }
  return { body: data, sizeBytes: sizeBytes ?? null, watched: true };
}

async function* inPieces(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let from = 0; from < bytes.length; from += pieceBytes) yield bytes.subarray(from, from + pieceBytes);
}

async function open(
  transport: Transport,
  path: string,
  contentType: string,
  options: TransferOptions,
): Promise<HttpStream> {
  const stream = await transport.openStream(
    { method: 'GET', path, signal: options.signal },
    options.stallMs ?? defaultStallMs,
  );
  const got = stream.headers['content-type'];
  if (got !== undefined && !got.startsWith(contentType)) {
    stream.close();
    const said = quoted(got, transport.secrets());
    throw new VmchartError('Protocol', `GET ${path} answered ${said} where ${contentType} was expected.`, {
      reason: 'unexpected-response',
      status: stream.status,
    });
  }
  const { onProgress } = options;
  if (onProgress === undefined) return stream;
  const declared = Number(stream.headers['content-length'] ?? NaN);
  const totalBytes = Number.isSafeInteger(declared) ? declared : null;
  return { ...stream, body: counted(stream.body, (bytes) => onProgress({ bytes, totalBytes })) };
}

async function* counted(body: AsyncIterable<Uint8Array>, note: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    note(bytes);
    yield piece;
  }
}

/** Passes no byte on beyond the cap. */
async function* capped(
  body: AsyncIterable<Uint8Array>,
  maxBytes: number,
  tooLarge: () => Error,
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  for await (const piece of body) {
    bytes += piece.length;
    if (bytes > maxBytes) throw tooLarge();
    yield piece;
  }
}

function pathQuery(route: string, path: string): string {
  if (path === '' || path.includes('\0')) {
    throw new VmchartError('InvalidArg', 'A path in the VM must not be empty nor hold a NUL character.', {
      reason: 'path',
    });
  }
  return `${route}?path=${encoded(path)}`;
}

/** Everything but unreserved characters is escaped, the five that `encodeURIComponent` spares included. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** @throws VmchartError `InvalidArg` before anything is sent. */
function lineQuery({ startLine, endLine }: LineRange): string {
  for (const [name, line] of [
    ['start_line', startLine],
    ['end_line', endLine],
  ] as const) {
    if (line !== undefined && (!Number.isSafeInteger(line) || line < 1)) {
      throw new VmchartError('InvalidArg', `${name} is 1-based; got ${line}.`, { reason: 'line-range' });
    }
  }
  if (endLine !== undefined && endLine < (startLine ?? 1)) {
    throw new VmchartError('InvalidArg', `end_line ${endLine} is before start_line ${startLine ?? 1}.`, {
      reason: 'line-range',
    });
  }
  return (
    (startLine === undefined ? '' : `&start_line=${startLine}`) + (endLine === undefined ? '' : `&end_line=${endLine}`)
  );
}

function octal(mode: string | number): string {
  const text = typeof mode === 'number' ? mode.toString(8).padStart(4, '0') : mode;
  if (/^(0o)?[0-7]{1,5}$/.test(text) && Number.parseInt(text.replace('0o', ''), 8) <= 0o7777) return text;
  throw new VmchartError('InvalidArg', `A mode is octal, at most 7777, such as 0644; got ${mode}.`, { reason: 'mode' });
}
