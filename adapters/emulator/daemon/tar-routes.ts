/** `GET` and `PUT /v1/fs/tar` (`agentd-protocol.md` 13). */
import { createReadStream, statSync } from 'node:fs';
import { posix } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { locate } from '../guest/rooted-path.ts';
import type { Located } from '../guest/rooted-path.ts';
import { BodyFailure, bodyChunks, bodyStatus } from './bodies.ts';
import { checkDisk, diskCheckBytes, failureCode, queriedPath, using, writePieces } from './fs-common.ts';
import type { FsWorld } from './fs-common.ts';
import { lent } from './lent.ts';
import { Refusal, sendEmpty, textProblem } from './replies.ts';
import type { Call, Route } from './router.ts';
import { ArchiveTooLarge, extractTar } from './tar-extract.ts';
import { MemberRefusal } from './tar-member.ts';
import { measureTree, packTree } from './tar-pack.ts';

/** The tar routes. */
export function tarRoute(world: FsWorld): Route {
  const { files, settings } = world;

  /** Checks the reserve each time another stretch of bytes has come. */
  const diskWatch = (path: string): ((bytes: number) => void) => {
    let next = diskCheckBytes;
    return (bytes) => {
      if (bytes < next) return;
      next = bytes + diskCheckBytes;
      checkDisk(world, path);
    };
  };

  const find = (path: string): Located => {
    let found: Located;
    try {
      found = files.locate(path.startsWith('/') ? path : `${world.workingDirectory}/${path}`);
    } catch (error) {
      throw textProblem(failureCode(error) === 'ENOENT' ? 404 : 500, (error as Error).message);
    }
    if (found.kind === 'directory') return found;
    found.release();
    throw found.kind === 'absent'
      ? textProblem(404, `no such directory: ${path}`)
      : textProblem(400, `not a directory: ${path}`);
  };

  const get = async ({ request, response, query }: Call): Promise<void> => {
    const path = queriedPath(query);
    if (path === '') throw textProblem(404, 'no such directory: (empty path)');
    const root = find(path);
    let within: boolean;
    try {
      within = measureTree(root.path, { members: settings.maxTarMembers, bytes: settings.maxTarBytes });
    } catch (error) {
      root.release();
      throw textProblem(500, `cannot read ${path}: ${failureCode(error) ?? 'failure'}`);
    }
    if (!within) {
      root.release();
      throw textProblem(413, `the tree is over ${settings.maxTarMembers} members or ${settings.maxTarBytes} bytes`);
    }
    response.setHeader('content-type', 'application/x-tar');
    if (request.method === 'HEAD') {
      root.release();
      response.end();
      return;
    }
    const archive = packTree(root.path, statSync(root.path), root.release);
    await pipeline(archive, response).catch(() => response.destroy());
  };

  /** The target directory, made when it is missing, in the root of the VM that its members are walked in. */
  const openTarget = (path: string): Located => {
    try {
      const found = files.locate(`${path}/.made-on-the-way`, { makeParents: true, lastLink: 'keep' });
      found.release();
      return files.locate(path);
    } catch (error) {
      throw textProblem(500, (error as Error).message);
    }
  };

  const failure = (error: unknown): Refusal => {
    if (error instanceof Refusal) return error;
    if (error instanceof MemberRefusal) return textProblem(400, error.message);
    if (error instanceof ArchiveTooLarge) return textProblem(413, error.message);
    return textProblem(500, `cannot extract: ${failureCode(error) ?? (error as Error).message}`);
  };

  const extractInto = async (path: string, spool: number): Promise<void> => {
    const target = openTarget(path);
    try {
      const place = {
        root: target.path,
        readOnly: target.readOnly,
        mountedAt: (inside: string) => files.mountedAt(posix.join(path, inside)),
      };
      await extractTar(createReadStream('', { fd: spool, fs: lent, start: 0, highWaterMark: 524_288 }), {
        locate: (inside, options) => locate(place, inside, options),
        maxMembers: settings.maxTarMembers,
        maxBytes: settings.maxTarBytes,
        landed: diskWatch(path),
      });
    } finally {
      target.release();
    }
  };

  const put = async ({ request, response, query }: Call): Promise<void> => {
    const path = queriedPath(query);
    if (!path.startsWith('/')) throw textProblem(400, 'path is not absolute');
    checkDisk(world, path);
    await using(files.spool(), async (spool) => {
      try {
        await writePieces(bodyChunks(request, settings.maxBodyBytes), spool, diskWatch(path));
      } catch (error) {
        if (error instanceof BodyFailure) throw textProblem(bodyStatus(error, 400), error.message);
        throw failure(error);
      }
      await extractInto(path, spool).catch((error: unknown) => {
        throw failure(error);
      });
    });
    sendEmpty(response, 204);
  };

  return { path: '/v1/fs/tar', auth: 'bearer', methods: { GET: get, PUT: put } };
}
