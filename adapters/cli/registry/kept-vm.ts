/** A kept VM, taken up again by another process. */
import { fileSecrets } from '../../file-secrets.ts';
import { Sandbox } from '../../../effects/index.ts';
import type { Journal, Secrets, Session } from '../../../effects/index.ts';
import type { Target } from '../arguments/target.ts';
import { CliError, usageError } from '../cli-error.ts';
import type { CommandContext } from '../command.ts';
import type { Platform } from '../platform/open-platform.ts';
import { openPlatform } from '../platform/open-platform.ts';
import type { NameEntry } from './name-entry.ts';
import { lifeOf } from './name-entry.ts';
import { NameRegistry } from './name-registry.ts';
import { stateDirectory } from './state-directory.ts';

/** The registry that the environment names. */
export function registryOf(context: Pick<CommandContext, 'environment'>): NameRegistry {
  return new NameRegistry(stateDirectory(context.environment));
}

/** Where a kept VM is. Its record alone decides; no setting of the day does (FC-133). */
export function targetOfEntry({ region, endpointUrl }: NameEntry): Exclude<Target, { kind: 'embedded' }> {
  return endpointUrl === null ? { kind: 'aws', region, endpointUrl } : { kind: 'emulator', region, endpointUrl };
}

/**
 * A journal that keeps the one life of a name in its entry, so that no intent is lost with the process. An intent
 * that cannot be kept there is an error, and its call is not made; only an end needs no record, since it leaves
 * nothing that could be forgotten.
 */
export function entryJournal(registry: NameRegistry, entry: NameEntry): Journal {
  const { sandboxId } = entry;
  const own = async () => {
    const found = await registry.read(entry.name);
    return found.sandboxId === sandboxId ? found.record : null;
  };
  return {
    async write(record) {
      try {
        await registry.write({ ...entry, record });
      } catch (error) {
        if (!record.substate.startsWith('TERMINAT')) throw error;
      }
    },
    read: async (id) => (id === sandboxId ? await own() : null),
    async list() {
      const record = await own();
      return record === null ? [] : [record];
    },
    async remove(id) {
      if (id === sandboxId) await registry.remove(entry);
    },
  };
}

/** The platform of an entry, with the token and the journal of its name. */
export async function platformOf(
  registry: NameRegistry,
  entry: NameEntry,
  context: Pick<CommandContext, 'environment' | 'terminal'>,
): Promise<Platform & { readonly secrets: Secrets }> {
  const secrets = fileSecrets(registry.secretsPath(entry));
  const platform = await openPlatform(targetOfEntry(entry), context.environment, {
    secrets,
    journal: entryJournal(registry, entry),
    warn: (text) => context.terminal.note(text),
  });
  return { ...platform, secrets };
}

/** A kept VM in hand. */
export interface KeptVm extends AsyncDisposable {
  readonly name: string;
  readonly entry: NameEntry;
  readonly sandbox: Sandbox;
  readonly registry: NameRegistry;
  readonly platform: Platform;
  /**
   * Writes down where the life stands now.
   *
   * @throws CliError that names the VM when its name was given up, or stands for another life by now
   */
  save(): Promise<void>;
}

/**
 * Takes up the VM of a name, with one read of its state.
 *
 * @param region - what `--region` said: a disagreement with the record is an error, with zero calls (FC-131)
 * @throws CliError `Precondition` for an unknown name, `InvalidArg` for another region, `Config` for a torn record
 */
export async function openKept(
  name: string,
  context: CommandContext,
  options: { readonly region?: string | undefined } = {},
): Promise<KeptVm> {
  const registry = registryOf(context);
  const entry = await registry.read(name);
  if (options.region !== undefined && options.region !== entry.region) {
    throw usageError(`${name} is in ${entry.region}, not in ${options.region}.`, ['Leave out --region.']);
  }
  const record = lifeOf(entry);
  if (record === null) {
    throw new CliError('Precondition', `The name ${name} is reserved, and nothing has been launched under it yet.`, {
      suggestions: [`Wait for the launch, or give the name up: vmchart terminate ${name} --forget`],
    });
  }
  const platform = await platformOf(registry, entry, context);
  try {
    const sandbox = await Sandbox.restore(platform.ports, record, {
      signal: context.interrupts.signal,
      // Whoever types "suspend" wants it suspended: a wish that is met already is a success, without a call.
      policy: { whenAlreadyThere: 'succeed' },
    });
    return {
      name,
      entry,
      sandbox,
      registry,
      platform,
      save: () => registry.write({ ...entry, record: sandbox.record() }),
      async [Symbol.asyncDispose]() {
        sandbox.actor.stop();
        await platform[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await platform[Symbol.asyncDispose]();
    throw error;
  }
}

/**
 * The inside of a kept VM that can be reached now.
 *
 * @throws CliError of kind `Precondition` when it is suspended or has ended
 */
export async function sessionOf(kept: KeptVm, context: CommandContext): Promise<Session> {
  const { sandbox, name } = kept;
  if (sandbox.lifecycle === 'PENDING') return await sandbox.waitUntilReady({ signal: context.interrupts.signal });
  if (sandbox.session !== null && sandbox.isReachable !== false) return sandbox.session;
  const suspended = sandbox.lifecycle === 'SUSPENDED' || sandbox.lifecycle === 'SUSPENDING';
  throw new CliError('Precondition', `${name} (${sandbox.microvmId}) is ${sandbox.lifecycle}.`, {
    suggestions: suspended
      ? [`vmchart resume ${name}`]
      : [`Give the name up with vmchart terminate ${name}, and launch another VM.`],
  });
}
