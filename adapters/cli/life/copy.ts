/** Copies between this machine and a kept VM. */
import { basename, dirname } from 'node:path';
import { VmchartError } from '../../../effects/errors.ts';
import type { DirectoryReport, Session, SkippedMember } from '../../../effects/index.ts';
import type { Places } from '../arguments/places.ts';
import { landingPlace } from '../arguments/places.ts';
import { usageError } from '../cli-error.ts';
import type { CommandContext, Outcome } from '../command.ts';
import { beginStep } from '../output/progress.ts';
import type { Step } from '../output/progress.ts';
import { bytesText, transferText } from '../output/transfer.ts';
import { openKept, sessionOf } from '../registry/kept-vm.ts';
import { fileRefusal, localRefusal } from './vm-refusal.ts';

/** What of a folder is taken. */
export interface CopyOptions {
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  readonly git: boolean;
  readonly skipLinks: boolean;
  readonly region: string | undefined;
}

/** What a copy moved. */
interface Moved {
  readonly kind: 'file' | 'folder';
  readonly to: string;
  readonly bytes: number;
  readonly report: DirectoryReport | null;
}

/** What the parts of a copy share. */
interface Transfer {
  readonly places: Places;
  readonly options: CopyOptions;
  readonly context: CommandContext;
  readonly moving: {
    readonly signal: AbortSignal;
    readonly onProgress: (progress: { readonly bytes: number; readonly totalBytes: number | null }) => void;
  };
}

/** Copies, with progress; what arrived is told at the end. */
export async function copy(
  places: Places,
  name: string,
  context: CommandContext,
  options: CopyOptions,
): Promise<Outcome> {
  const { terminal, interrupts } = context;
  await using kept = await openKept(name, context, options);
  const session = await sessionOf(kept, context);
  const [from, to] =
    places.direction === 'up' ? [places.local, `vm:${places.remote}`] : [`vm:${places.remote}`, places.local];
  const startedAt = performance.now();
  const step: Step = beginStep(terminal, `copying ${from} to ${to}`);
  let begun = false;
  const onProgress = ({ bytes, totalBytes }: { readonly bytes: number; readonly totalBytes: number | null }) => {
    begun ||= bytes > 0;
    step.update(transferText(bytes, totalBytes, performance.now() - startedAt));
  };
  const transfer: Transfer = { places, options, context, moving: { signal: interrupts.signal, onProgress } };
  let moved: Moved;
  try {
    moved = places.direction === 'up' ? await copyUp(session, transfer) : await copyDown(session, transfer);
  } catch (error) {
    step.failed(`${from} was not copied`);
    // The daemon writes a file in place; a folder comes as an archive, which it reads to its end before it begins.
    if (begun && places.direction === 'up' && places.folder !== true && !leavesNothing(error)) {
      terminal.note(`A part of it may be in ${name}, at ${places.remote}.`);
    }
    interrupts.signal.throwIfAborted();
    throw localRefusal(fileRefusal(error, places.remote, name), places.direction === 'down' ? places.local : null);
  }
  const { kind, bytes, report } = moved;
  const what =
    report === null
      ? bytesText(bytes)
      : `${report.files} ${report.files === 1 ? 'file' : 'files'}, ${bytesText(bytes)}`;
  step.done(`copied ${from} to ${moved.to} (${what})`);
  for (const line of leftOut(report?.skipped ?? [])) terminal.note(line);
  const durationMs = Math.round(performance.now() - startedAt);
  const data = { name, direction: places.direction, from, to: moved.to, kind, bytes, durationMs, ...report };
  return { data };
}

async function copyUp(session: Session, { places, options, moving }: Transfer): Promise<Moved> {
  const { local } = places;
  if (places.folder === true) {
    const { remote } = places;
    const choice = { include: options.include, exclude: options.exclude };
    const unsafeLinks = options.skipLinks ? 'skip' : 'refuse';
    const report = await session.uploadDir(local, remote, { ...chosen(choice), ...moving, unsafeLinks });
    return { kind: 'folder', to: `vm:${remote}`, bytes: report.bytes, report: withoutBody(report) };
  }
  const remote = await landingPlaceInVm(session, places, moving.signal);
  let bytes = 0;
  const counting = {
    ...moving,
    onProgress: (progress: Parameters<typeof moving.onProgress>[0]) => {
      bytes = progress.bytes;
      moving.onProgress(progress);
    },
  };
  if (local === '-') await session.uploadFile(remote, process.stdin, counting);
  else await session.uploadFrom(local, remote, counting);
  return { kind: 'file', to: `vm:${remote}`, bytes, report: null };
}

/** Where a file lands in the VM: under the name given, or in a folder that is there. */
async function landingPlaceInVm(session: Session, { local, remote }: Places, signal: AbortSignal): Promise<string> {
  if (local === '-') return remote;
  try {
    await session.fileExists(remote, signal);
    return remote;
  } catch (error) {
    // Asked for a folder as if it were a file, the daemon answers 400.
    if (VmchartError.is(error) && error.status === 400) return `${remote}/${basename(local)}`;
    throw error;
  }
}

async function copyDown(session: Session, transfer: Transfer): Promise<Moved> {
  const { places, context, moving } = transfer;
  const { local, remote } = places;
  if (local === '-') {
    const stream = await session.openFile(remote, moving);
    let bytes = 0;
    for await (const piece of stream.body) {
      bytes += piece.length;
      await context.terminal.out(piece);
    }
    return { kind: 'file', to: '-', bytes, report: null };
  }
  if (places.folder === true) return await folderDown(session, transfer);
  try {
    const to = landingPlace(local, remote);
    return { kind: 'file', to, bytes: await session.downloadTo(remote, to, moving), report: null };
  } catch (error) {
    // Only the VM knows whether it is a folder: then reading it as a file is its 400.
    if (!VmchartError.is(error) || error.status !== 400) throw error;
    return await folderDown(session, transfer).catch((second: unknown) => {
      throw VmchartError.is(second) && second.status === 400 ? error : second;
    });
  }
}

async function folderDown(session: Session, { places, options, moving }: Transfer): Promise<Moved> {
  const { local, remote } = places;
  if (local === '-') throw usageError('A folder does not go to standard output.', ['Copy it to a folder.']);
  const report = await session.downloadDir(remote, local, {
    ...chosen(options),
    ...moving,
    git: options.git ? 'keep' : 'skip',
    links: options.skipLinks ? 'skip' : 'keep',
  });
  return { kind: 'folder', to: local, bytes: report.bytes, report: withoutBody(report) };
}

/** What the daemon refuses for its size is not there: it looks first, and takes back what it began. */
function leavesNothing(error: unknown): boolean {
  return VmchartError.is(error) && (error.status === 413 || error.status === 507);
}

const mostLines = 10;

const whyLeftOut: Readonly<Record<SkippedMember['reason'], string>> = {
  git: 'git runs what is in it; --git takes it too',
  link: 'a link',
  'special-file': 'neither a file, a folder nor a link',
  'not-chosen': 'not chosen',
};

/** What was left out without being asked for: a folder stands for all that is in it. */
function leftOut(skipped: readonly SkippedMember[]): string[] {
  const paths = new Set(skipped.map(({ path }) => path));
  const topmost = skipped.filter(({ path, reason }) => reason !== 'not-chosen' && !paths.has(dirname(path)));
  const lines = topmost.slice(0, mostLines).map(({ path, reason }) => `left out: ${path} (${whyLeftOut[reason]})`);
  const more = topmost.length - lines.length;
  return more === 0 ? lines : [...lines, `left out: ${more} more; --json lists them all`];
}

/** An empty list of globs would take nothing. */
function chosen({ include, exclude }: Pick<CopyOptions, 'include' | 'exclude'>) {
  return { ...(include.length === 0 ? {} : { include }), ...(exclude.length === 0 ? {} : { exclude }) };
}

function withoutBody({ files, directories, links, bytes, skipped }: DirectoryReport): DirectoryReport {
  return { files, directories, links, bytes, skipped };
}
