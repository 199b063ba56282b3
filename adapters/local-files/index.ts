/** The local disk, as transfers of files and directories need it. */
import type { LocalFiles } from '../../effects/index.ts';

/**
 * The local disk. Each part is loaded when it is first needed.
 *
 * @example
 * const session = new Session({ endpoint, agentToken, http, clock, localFiles: localFiles() });
 * await session.uploadDir('./src', '/workspace/src');
 */
export function localFiles(): LocalFiles {
  return {
    async openFile(path) {
      return await (await import('./open-file.ts')).openFile(path);
    },
    async saveFile(path, content) {
      return await (await import('./save-file.ts')).saveFile(path, content);
    },
    async openDirectory(path, options) {
      return await (await import('./pack.ts')).openDirectory(path, options);
    },
    async unpack(path, archive, options) {
      return await (await import('./unpack.ts')).unpack(path, archive, options);
    },
  };
}
