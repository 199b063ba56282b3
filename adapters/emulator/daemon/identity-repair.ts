/** What makes one VM of an image different from its siblings (`agentd-protocol.md` 17). */
import type { Entropy } from '../../../effects/index.ts';
import type { VmFiles } from '../guest/vm-files.ts';

/** One step of the repair, as health shows it. */
export interface IdentityStep {
  readonly name: string;
  readonly outcome: 'repaired' | 'not_applicable' | 'failed';
  readonly error?: string;
}

const attempt = (name: string, act: () => boolean): IdentityStep => {
  try {
    return { name, outcome: act() ? 'repaired' : 'not_applicable' };
  } catch (error) {
    return { name, outcome: 'failed', error: (error as Error).message };
  }
};

/** Files that remember a machine; each is removed. */
const cachedIdentityFiles = ['/var/lib/dbus/machine-id'];

/**
 * Gives the VM an identity of its own. Never throws.
 *
 * @param isolated - whether the VM has a host name and a boot id of its own. They are made from the machine id with
 *   its first process, which comes after this.
 */
export function repairIdentity(files: VmFiles, entropy: Entropy, isolated: boolean): IdentityStep[] {
  let id: string | null = null;
  const freshId = (): string => {
    if (id === null) throw new Error('no fresh id');
    return id;
  };
  try {
    const bytes = new Uint8Array(16);
    entropy.fill(bytes);
    id = Buffer.from(bytes).toString('hex');
  } catch {
    // The steps that need it say so.
  }
  return [
    attempt('machine-id', () => {
      files.replace('/etc/machine-id', `${freshId()}\n`);
      return true;
    }),
    attempt('hostname', () => {
      files.replace('/etc/hostname', `microvm-${freshId().slice(0, 12)}\n`);
      return isolated;
    }),
    attempt('boot-id', () => {
      freshId();
      return isolated;
    }),
    attempt('random-seed', () => files.remove('/var/lib/systemd/random-seed')),
    ...cachedIdentityFiles.map((path) => attempt('cached-credential', () => files.remove(path))),
  ];
}
