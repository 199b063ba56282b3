/** What a process that was killed in the middle of a write leaves beside the files it wrote. */
import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';

/** A write takes some milliseconds: a draft of this age has nobody who finishes it. In milliseconds. */
const abandonedAfterMs = 600_000;

const id = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}';
/** Drafts of entries and of secrets, and locks; nothing that somebody else may have put here. */
const draft = new RegExp(`^\\.(?:[\\w-]{1,128}\\.${id}|${id}\\.tmp|[\\w-]{1,128}\\.lock(?:\\.${id})?)$`);

/** Removes the abandoned drafts of a folder. A help, not a duty: what cannot be removed stays. */
export async function sweepDrafts(folder: string): Promise<void> {
  const files = await readdir(folder).catch(() => []);
  await Promise.all(
    files
      .filter((file) => draft.test(file))
      .map(async (file) => {
        const path = join(folder, file);
        try {
          if (Date.now() - (await stat(path)).mtimeMs > abandonedAfterMs) await rm(path, { force: true });
        } catch {
          // Somebody else was faster.
        }
      }),
  );
}
