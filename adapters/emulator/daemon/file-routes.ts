/** `GET` and `PUT /v1/fs/file` (`agentd-protocol.md` 12). */
import { closeSync, createReadStream, fchmodSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { BodyFailure, bodyChunks, bodyStatus } from './bodies.ts';
import {
  checkDisk,
  diskCheckBytes,
  failureCode,
  queried,
  queriedMode,
  queriedPath,
  using,
  writePieces,
} from './fs-common.ts';
import type { FsWorld } from './fs-common.ts';
import { lineRange } from './line-range.ts';
import type { LineBounds } from './line-range.ts';
import { oneUnsigned } from './queries.ts';
import { Refusal, sendEmpty, textProblem } from './replies.ts';
import type { Call, Route } from './router.ts';

/** Size of one read of a file, in bytes. */
const readBytes = 524_288;

function queriedLines(query: URLSearchParams): LineBounds | null {
  const start = queried(() => oneUnsigned(query, 'start_line'));
  const end = queried(() => oneUnsigned(query, 'end_line'));
  if (start === null && end === null) return null;
  const first = start ?? 1;
  if (first === 0) throw textProblem(400, 'start_line counts from 1');
  if (end !== null && end < first) throw textProblem(400, 'end_line is before start_line');
  return { first, last: end ?? Number.POSITIVE_INFINITY };
}

/** The file routes. */
export function fileRoute(world: FsWorld): Route {
  const { files, settings } = world;
  const absolute = (path: string): string => (path.startsWith('/') ? path : `${world.workingDirectory}/${path}`);

  const open = (path: string): { fd: number; stats: Stats } => {
    if (path === '') throw textProblem(404, 'no such file: (empty path)');
    try {
      return files.openForReading(absolute(path));
    } catch (error) {
      throw textProblem(failureCode(error) === 'ENOENT' ? 404 : 500, (error as Error).message);
    }
  };

  const get = async ({ request, response, query }: Call): Promise<void> => {
    const path = queriedPath(query);
    const lines = queriedLines(query);
    const { fd, stats } = open(path);
    // A character device such as /dev/null is read like a file.
    if (!stats.isFile() && !stats.isCharacterDevice()) {
      closeSync(fd);
      throw textProblem(
        stats.isDirectory() ? 400 : 500,
        `${stats.isDirectory() ? 'a directory' : 'not a file'}: ${path}`,
      );
    }
    response.setHeader('content-type', 'application/octet-stream');
    if (request.method === 'HEAD') {
      closeSync(fd);
      response.end();
      return;
    }
    const content = createReadStream('', { fd, highWaterMark: readBytes });
    const body = lines === null ? content : Readable.from(lineRange(content, lines), { objectMode: false });
    // Who leaves early or a disk that fails: either way the body is cut, and there is nobody left to tell.
    await pipeline(body, response).catch(() => response.destroy());
  };

  const put = async ({ request, response, query }: Call): Promise<void> => {
    const path = queriedPath(query);
    const mode = queriedMode(query);
    checkDisk(world, absolute(path));
    let opened: { fd: number; created: boolean };
    try {
      if (path === '') throw new Error('empty path');
      opened = files.openForWriting(absolute(path), mode);
    } catch (error) {
      throw textProblem(500, (error as Error).message);
    }
    let nextCheck = diskCheckBytes;
    try {
      await using(opened.fd, async (fd) => {
        await writePieces(bodyChunks(request, settings.maxBodyBytes), fd, (bytes) => {
          if (bytes < nextCheck) return;
          nextCheck += diskCheckBytes;
          checkDisk(world, absolute(path));
        });
        if (mode !== null) fchmodSync(fd, mode);
      });
    } catch (error) {
      if (error instanceof Refusal) {
        if (error.status === 507) files.remove(absolute(path));
        throw error;
      }
      if (error instanceof BodyFailure) throw textProblem(bodyStatus(error, 500), error.message);
      throw textProblem(500, `cannot write ${path}`);
    }
    sendEmpty(response, 204);
  };

  return { path: '/v1/fs/file', auth: 'bearer', methods: { GET: get, PUT: put } };
}
