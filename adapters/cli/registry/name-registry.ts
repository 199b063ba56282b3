/** The names of kept VMs, one file each, replaced as a whole. */
import { randomUUID } from 'node:crypto';
import { open, readFile, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { checkName } from '../arguments/vm-name.ts';
import { CliError } from '../cli-error.ts';
import { didYouMean } from '../did-you-mean.ts';
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

/** The registry of one state directory. */
export class NameRegistry {
  readonly #directory: StateDirectory;

  constructor(directory: StateDirectory) {
    this.#directory = directory;
  }

  /** The file that the token of a name's VM is kept in. */
  secretsPath(name: string): string {
    return join(this.#directory.secrets, name + suffix);
  }

  /**
   * Takes a name before anything is launched. A file that is there, whatever is in it, means that it is taken.
   *
   * @throws CliError of kind `NameTaken`, or `Config` when the state directory cannot be used
   */
  async reserve(entry: NameEntry): Promise<void> {
    const path = this.#path(entry.name);
    await privateFolder(this.#directory.names);
    await privateFolder(this.#directory.secrets);
    await checkClosed(this.#directory.root, 'root');
    try {
      const file = await open(path, 'wx', 0o600);
      await file.writeFile(serialize(entry));
      await file.sync();
      await file.close();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw storeError(path, error);
      throw new CliError('NameTaken', `The name ${entry.name} is taken.`, {
        suggestions: [
          'Choose another name; vmchart ls shows those that are taken.',
          `Or end that VM first: vmchart terminate ${entry.name}`,
        ],
      });
    }
  }

  /** Replaces the entry of a name that is taken; one that was removed meanwhile stays removed. */
  async write(entry: NameEntry): Promise<void> {
    const path = this.#path(entry.name);
    const beside = join(this.#directory.names, `.${entry.name}.${randomUUID()}`);
    try {
      await readFile(path);
    } catch {
      return;
    }
    try {
      const file = await open(beside, 'wx', 0o600);
      await file.writeFile(serialize(entry));
      await file.sync();
      await file.close();
      await rename(beside, path);
    } catch (error) {
      await rm(beside, { force: true });
      throw storeError(path, error);
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
    for (const file of [path, this.secretsPath(name)]) await checkClosed(file, 'file');
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
          known.length === 0 ? `Keep one with vmchart run --keep --name ${name}.` : `Kept are: ${known.join(', ')}.`,
        ],
      });
    }
    const entry = parseEntry(name, content);
    if (typeof entry !== 'string') return entry;
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

  /** Gives a name up and forgets its token. */
  async remove(name: string): Promise<void> {
    try {
      await rm(this.secretsPath(name), { force: true });
      await rm(this.#path(name), { force: true });
    } catch (error) {
      throw storeError(this.#path(name), error);
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

function serialize(entry: NameEntry): string {
  return `${JSON.stringify(entry, null, 2)}\n`;
}
