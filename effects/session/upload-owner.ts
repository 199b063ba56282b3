/**
 * Who owns what is uploaded (`client-behaviour.md` 4.13).
 *
 * The daemon writes every upload as its own user, root. Where an image configures another default user, uploads can
 * be handed over to that user: one look at the daemon's health and one command as the default user tell who that is,
 * once for a session; then each upload is followed by one command as root. How the reference client does it is not
 * public, so this is a step of its own that happens only when asked for.
 */
import { VmchartError } from '../errors.ts';
import { quoted } from '../quoted.ts';
import { readHealth } from './health.ts';
import type { Schedule } from '../schedule.ts';
import { runToCompletion } from './run-to-completion.ts';
import type { Transport } from './transport.ts';

/** Leaves uploads to the daemon's user; gives them to the image's default user; or gives them to these numbers. */
export type UploadOwnership = 'daemon' | 'default-user' | { readonly uid: number; readonly gid: number };

interface Owner {
  readonly uid: number;
  readonly gid: number;
}

const root: Owner = { uid: 0, gid: 0 };
/** Naming no user is not asking for root: an image may have another default. */
const asRoot = { user: 0 } as const;
const helperDeadlineMs = 60_000;

/** Hands uploads over to their owner. */
export class UploadOwner {
  readonly #transport: Transport;
  readonly #poll: Schedule;
  readonly #ownership: UploadOwnership;
  #known: Promise<Owner> | null = null;

  constructor(transport: Transport, ownership: UploadOwnership, poll: Schedule) {
    this.#transport = transport;
    this.#ownership = ownership;
    this.#poll = poll;
  }

  /**
   * Hands over a file, or a directory with all that is below it. Sends nothing where root is the owner.
   *
   * @throws VmchartError `Platform`, reason `upload-owner`: the upload is there, and is still root's.
   */
  async handOver(path: string, kind: 'file' | 'directory', signal: AbortSignal | undefined): Promise<void> {
    const { uid, gid } = await this.#owner(signal);
    if (uid === 0 && gid === 0) return;
    const flags = kind === 'file' ? '-h' : '-hR';
    await this.#helper(['chown', flags, `${uid}:${gid}`, '--', path], asRoot, signal);
  }

  async #owner(signal: AbortSignal | undefined): Promise<Owner> {
    if (typeof this.#ownership === 'object') return this.#ownership;
    if (this.#ownership === 'daemon') return root;
    this.#known ??= this.#lookUp(signal);
    try {
      return await this.#known;
    } catch (error) {
      this.#known = null;
      throw error;
    }
  }

  async #lookUp(signal: AbortSignal | undefined): Promise<Owner> {
    const { defaultUserConfigured } = await readHealth(this.#transport, signal);
    if (!defaultUserConfigured) return root;
    const numbers = (await this.#helper('id -u && id -g', {}, signal)).trim().split(/\s+/).map(Number);
    const [uid = NaN, gid = NaN] = numbers;
    if (Number.isInteger(uid) && Number.isInteger(gid)) return { uid, gid };
    throw failure('the default user could not be read');
  }

  async #helper(
    command: string | readonly string[],
    who: { readonly user?: number },
    signal: AbortSignal | undefined,
  ): Promise<string> {
    const options = { ...who, deadlineMs: helperDeadlineMs, signal };
    const result = await runToCompletion(this.#transport, command, options, this.#poll);
    if (result.succeeded) return result.stdout;
    const said = quoted(result.stderr.trim(), this.#transport.secrets());
    throw failure(said === '' ? `exit ${result.posixExitCode}` : said);
  }
}

function failure(why: string): VmchartError {
  return new VmchartError('Platform', `The upload is there, but could not be handed over to its owner: ${why}.`, {
    reason: 'upload-owner',
  });
}
