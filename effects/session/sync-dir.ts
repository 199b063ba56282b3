/**
 * Keeping a directory of the VM equal to a local one, with no more traffic than the differences
 * (`client-behaviour.md` 4.16).
 *
 * A manifest in the VM remembers what was put there. The VM is not trusted: what its manifest names is only ever
 * removed inside the directory, and by names that no command can take for anything else (FC-103).
 */
import { VmchartError } from '../errors.ts';
import { quoted } from '../quoted.ts';
import type { Command } from './exec-command.ts';
import { downloadFile, uploadFile, uploadTar } from './files.ts';
import type { ArchiveOptions } from './files.ts';
import type { LocalFiles, PackOptions, SkippedMember } from './local-files.ts';
import type { RunOptions } from './run-to-completion.ts';
import type { RunResult } from './run-result.ts';
import type { Transport } from './transport.ts';

/** How a directory is synchronised. */
export interface SyncDirOptions extends ArchiveOptions, PackOptions {}

/** What a synchronisation did. */
export interface SyncReport {
  /** Members that were new or had changed. */
  readonly uploaded: readonly string[];
  /** Members of the VM's directory that were removed, since the local one has them no more. */
  readonly removed: readonly string[];
  readonly unchanged: number;
  /** Entries of the VM's manifest that were passed over: they name nothing that could have been put there. */
  readonly ignored: readonly string[];
  readonly skipped: readonly SkippedMember[];
}

/** The name of the manifest, inside the directory. */
export const manifestName = '.vmchart-manifest.json';

/** Names go to one command together up to this many bytes: far below what a system takes. */
const removalBytes = 64 * 1024;

type RunCommand = (command: Command, options: RunOptions) => Promise<RunResult>;

/** Uploads what changed, removes what vanished, and writes the manifest anew. */
export async function syncDir(
  transport: Transport,
  disk: LocalFiles,
  run: RunCommand,
  localDir: string,
  remoteDir: string,
  options: SyncDirOptions = {},
): Promise<SyncReport> {
  const local = await disk.openDirectory(localDir, options);
  const now = await local.digests(options.signal);
  const manifestPath = `${remoteDir.replace(/\/+$/, '')}/${manifestName}`;
  const { entries: before, ignored } = readManifest(await manifestText(transport, manifestPath, options.signal));
  const changed = new Set([...now].filter(([path, digest]) => before.get(path) !== digest).map(([path]) => path));
  const vanished = [...before.keys()].filter((path) => !now.has(path));
  if (changed.size > 0 || before.size === 0) {
    await uploadTar(transport, remoteDir, () => local.pack((path) => changed.has(path)), options);
  }
  await removeAll(transport, run, remoteDir, vanished, options.signal);
  await uploadFile(transport, manifestPath, JSON.stringify(Object.fromEntries(now)), { signal: options.signal });
  return {
    uploaded: [...changed],
    removed: vanished,
    unchanged: now.size - changed.size,
    ignored,
    skipped: local.skipped,
  };
}

async function manifestText(transport: Transport, path: string, signal: AbortSignal | undefined): Promise<string> {
  try {
    return Buffer.from(await downloadFile(transport, path, { signal })).toString('utf8');
  } catch (error) {
    if (VmchartError.is(error) && error.wireKind === 'NotFound') return '{}';
    throw error;
  }
}

/** Reads a manifest that anybody in the VM may have written. What is unreadable counts as no manifest at all. */
export function readManifest(text: string): { entries: Map<string, string>; ignored: string[] } {
  const entries = new Map<string, string>();
  const ignored: string[] = [];
  for (const [path, digest] of Object.entries(parsed(text))) {
    if (isPlainRelativePath(path) && typeof digest === 'string') entries.set(path, digest);
    else ignored.push(path);
  }
  return { entries, ignored };
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {};
  } catch {
    return {};
  }
}

/** Inside the directory, and nothing that a command could take for an option or for two names. */
function isPlainRelativePath(path: string): boolean {
  const parts = path.split('/');
  return !/^[-/]|\p{Cc}/u.test(path) && parts.every((part) => part !== '' && part !== '.' && part !== '..');
}

async function removeAll(
  transport: Transport,
  run: RunCommand,
  remoteDir: string,
  paths: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  for (let from = 0; from < paths.length;) {
    let to = from;
    for (let bytes = 0; to < paths.length && bytes < removalBytes; to += 1)
      bytes += Buffer.byteLength(paths[to] ?? '') + 1;
    const command = ['rm', '-f', '--', ...paths.slice(from, to)];
    const result = await run(command, { cwd: remoteDir, user: 0, signal });
    if (!result.succeeded) {
      const said = quoted(result.stderr.trim(), transport.secrets());
      throw new VmchartError('Platform', `What vanished could not be removed in the VM: ${said}`, {
        reason: 'sync',
      });
    }
    from = to;
  }
}
