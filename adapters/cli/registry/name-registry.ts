/** The names of kept VMs, one file each, replaced as a whole. */
import { randomUUID } from 'node:crypto';
import { open, readFile, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { checkName } from '../arguments/vm-name.ts';
import { CliError } from '../cli-error.ts';
import { didYouMean } from '../did-you-mean.ts';
import { sweepDrafts } from './drafts.ts';
import { underLock } from './file-lock.ts';
import type { NameEntry } from './name-entry.ts';
import { parseEntry } from './name-entry.ts';
import type { StateDirectory } from './state-directory.ts';
import { checkClosed, privateFolder, storeError } from './state-directory.ts';

const suffix = '.json';

/** A name in a listing; `entry` is `null` when its file cannot be read, and `problem` says why. */
export interface ListedName {
  readonly name: string;
  readonly entry: NameEntry | null;
  readonly problem: string | null;
}

/** Which life of a name is meant. */
export type Life = Pick<NameEntry, 'name' | 'sandboxId'>;

type Found =
  | { readonly kind: 'free' }
  | { readonly kind: 'unreadable'; readonly problem: string }
  | { readonly kind: 'entry'; readonly entry: NameEntry };

/** The registry of one state directory. */
export class NameRegistry {
  readonly #directory: StateDirectory;

  constructor(directory: StateDirectory) {
    this.#directory = directory;
  }

  /** The file that the token of a VM is kept in: each life of a name has one of its own. */
  secretsPath({ name, sandboxId }: Life): string {
    return join(this.#directory.secrets, `${name}.${sandboxId}${suffix}`);
  }

  /**
   * Takes a name before anything is launched. A file that is there, whatever is in it, means that it is taken.
   *
   * @throws CliError of kind `NameTaken`, or `Config` when the state directory cannot be used
   */
  async reserve(entry: NameEntry): Promise<void> {
    const path = this.#path(entry.name);
    const { root, names, secrets } = this.#directory;
    await privateFolder(names);
    await privateFolder(secrets);
    await checkClosed(root, 'root');
    await Promise.all([sweepDrafts(names), sweepDrafts(secrets)]);
    await this.#alone(entry.name, async () => {
      if ((await this.#look(entry.name)).kind === 'free') return await this.#replace(entry);
      throw new CliError('NameTaken', `The name ${entry.name} is taken.`, {
        suggestions: [
          'Choose another name; vmchart ls shows those that are taken.',
          `Or end that VM first: vmchart terminate ${entry.name}`,
        ],
      });
    }).catch((error: unknown) => {
      throw storeError(path, error);
    });
  }

  /**
   * Replaces the entry of a life.
   *
   * @throws CliError of kind `Precondition` when the name was given up or stands for another life by now, `Config`
   *   when its entry cannot be read or written. Nothing is changed then.
   */
  async write(entry: NameEntry): Promise<void> {
    try {
      await this.#alone(entry.name, async () => {
        const found = await this.#look(entry.name);
        if (found.kind !== 'entry' || found.entry.sandboxId !== entry.sandboxId) throw notWritten(entry, found);
        await this.#replace(entry);
      });
    } catch (error) {
      throw storeError(this.#path(entry.name), error);
    }
  }

  /**
   * The entry of a name.
   *
   * @throws CliError of kind `Precondition` for a name that nobody took, `Config` for an unreadable entry and for
   *   files or folders that are open to others
   */
  async read(name: string): Promise<NameEntry> {
    const path = this.#path(name);
    await this.#checkFolders();
    await checkClosed(path, 'file');
    let content: string;
    try {
      content = await readFile(path, 'utf8');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code !== 'ENOENT' && code !== 'ENOTDIR') throw storeError(path, error);
      const known = (await this.list()).map((listed) => listed.name);
      throw new CliError('Precondition', `No VM is kept under the name ${name} in ${this.#directory.root}.`, {
        suggestions: [
          ...didYouMean(name, known),
          known.length === 0
            ? `vmchart ls lists the names that are kept, none at present; vmchart run --keep --name ${name} keeps one.`
            : `Kept are: ${known.join(', ')}; vmchart ls tells more of them.`,
        ],
      });
    }
    const entry = parseEntry(name, content);
    if (typeof entry !== 'string') {
      await checkClosed(this.secretsPath(entry), 'file');
      return entry;
    }
    throw new CliError('Config', `The record of ${name} cannot be used: ${entry}.`, {
      suggestions: [
        `The name stays taken. Look at ${path}, or give the name up: vmchart terminate ${name} --forget`,
        'That does not end a VM.',
      ],
    });
  }

  /** All names, in alphabetical order. */
  async list(): Promise<readonly ListedName[]> {
    await this.#checkFolders();
    await Promise.all([sweepDrafts(this.#directory.names), sweepDrafts(this.#directory.secrets)]);
    let files: string[];
    try {
      files = await readdir(this.#directory.names);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
      throw storeError(this.#directory.names, error);
    }
    const names = files
      .filter((file) => file.endsWith(suffix) && !file.startsWith('.'))
      .map((file) => file.slice(0, -suffix.length))
      .sort();
    return await Promise.all(names.map((name) => this.#listed(name)));
  }

  async #listed(name: string): Promise<ListedName> {
    try {
      const entry = parseEntry(name, await readFile(join(this.#directory.names, name + suffix), 'utf8'));
      return typeof entry === 'string' ? { name, entry: null, problem: entry } : { name, entry, problem: null };
    } catch {
      return { name, entry: null, problem: 'it cannot be read' };
    }
  }

  /**
   * Gives the name of a life up and forgets its token. A name that is free already stays free.
   *
   * @throws CliError of kind `Precondition` when the name stands for another life by now, `Config` when its entry
   *   cannot be read: that entry, and the token of the other life, stay; the token of this one is forgotten
   */
  async remove(entry: NameEntry): Promise<void> {
    try {
      await rm(this.secretsPath(entry), { force: true });
      await this.#alone(entry.name, async () => {
        const found = await this.#look(entry.name);
        if (found.kind === 'entry' && found.entry.sandboxId === entry.sandboxId)
          await rm(this.#path(entry.name), { force: true });
        else if (found.kind !== 'free') throw notRemoved(entry, found);
      });
    } catch (error) {
      throw storeError(this.#path(entry.name), error);
    }
  }

  /** Gives a name up whose entry cannot be read, with all tokens that were kept under it. */
  async removeUnreadable(name: string): Promise<void> {
    const path = this.#path(name);
    try {
      await this.#alone(name, async () => {
        const found = await this.#look(name);
        if (found.kind === 'entry') throw new CliError('Precondition', `The name ${name} has been taken anew.`);
        const files = await readdir(this.#directory.secrets).catch(() => []);
        const own = files.filter((file) => file.startsWith(`${name}.`) && file.endsWith(suffix));
        await Promise.all(own.map((file) => rm(join(this.#directory.secrets, file), { force: true })));
        await rm(path, { force: true });
      });
    } catch (error) {
      throw storeError(path, error);
    }
  }

  /** What stands at a name now. To be asked under its lock when something is to follow from it. */
  async #look(name: string): Promise<Found> {
    let content: string;
    try {
      content = await readFile(this.#path(name), 'utf8');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return { kind: 'free' };
      return { kind: 'unreadable', problem: 'it cannot be read' };
    }
    const entry = parseEntry(name, content);
    return typeof entry === 'string' ? { kind: 'unreadable', problem: entry } : { kind: 'entry', entry };
  }

  /** Puts an entry in place as a whole. Only under the lock of its name. */
  async #replace(entry: NameEntry): Promise<void> {
    const beside = join(this.#directory.names, `.${entry.name}.${randomUUID()}`);
    try {
      const file = await open(beside, 'wx', 0o600);
      try {
        await file.writeFile(serialize(entry));
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(beside, this.#path(entry.name));
    } catch (error) {
      await rm(beside, { force: true });
      throw error;
    }
  }

  async #alone(name: string, work: () => Promise<void>): Promise<void> {
    const lock = join(this.#directory.names, `.${checkName(name, 'NAME')}.lock`);
    try {
      await underLock(lock, work);
    } catch (error) {
      // The folder itself is gone, and every name with it.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      await work();
    }
  }

  async #checkFolders(): Promise<void> {
    const { root, names, secrets } = this.#directory;
    await checkClosed(root, 'root');
    for (const folder of [names, secrets]) await checkClosed(folder, 'folder');
  }

  /** A name becomes part of a path, so it is checked wherever it comes from. */
  #path(name: string): string {
    return join(this.#directory.names, checkName(name, 'NAME') + suffix);
  }
}

/** Why nothing was written: the VM is named, because no name leads to it any more. */
function notWritten(life: NameEntry, found: Found): CliError {
  const { name, region, endpointUrl } = life;
  const microvmId = life.record?.known.microvmId ?? null;
  const lost = `${microvmId ?? 'what was launched'} is on record nowhere`;
  const service = endpointUrl === null ? '' : ` --endpoint-url ${endpointUrl}`;
  const suggestions =
    microvmId === null
      ? ['vmchart ls shows the names that are taken.']
      : [
          'End it, or it goes on billing: aws lambda-microvms terminate-microvm' +
            `${service} --region ${region} --microvm-identifier ${microvmId}`,
        ];
  switch (found.kind) {
    case 'free':
      return new CliError('Precondition', `The name ${name} was given up meanwhile: ${lost}.`, { suggestions });
    case 'unreadable':
      return new CliError('Config', `The record of ${name} cannot be used (${found.problem}): ${lost}.`, {
        suggestions,
      });
    case 'entry':
      return new CliError('Precondition', `The name ${name} stands for ${vmOf(found)} by now: ${lost}.`, {
        suggestions,
      });
  }
}

/** Why a name was not given up. */
function notRemoved(life: NameEntry, found: Exclude<Found, { kind: 'free' }>): CliError {
  const { name } = life;
  if (found.kind === 'unreadable') {
    return new CliError('Config', `The name ${name} stays taken: its record cannot be used (${found.problem}).`, {
      suggestions: [`Give it up with vmchart terminate ${name} --forget; that does not end a VM.`],
    });
  }
  const own = life.record?.known.microvmId;
  const message = `The name ${name} stands for ${vmOf(found)} by now, and stays taken.`;
  return new CliError('Precondition', own === undefined || own === null ? message : `${message} It stood for ${own}.`, {
    suggestions: ['vmchart ls shows what is kept.'],
  });
}

function vmOf({ entry }: Extract<Found, { kind: 'entry' }>): string {
  return entry.record?.known.microvmId ?? 'another launch';
}

function serialize(entry: NameEntry): string {
  return `${JSON.stringify(entry, null, 2)}\n`;
}
