/** Where AWS credentials come from: given, environment, shared profile files, or the default chain. */
import type { Credentials, CredentialsProvider } from '../effects/index.ts';
import { VmchartError } from '../effects/errors.ts';

type Environment = Readonly<Record<string, string | undefined>>;

function missing(message: string, suggestions: readonly string[], cause?: unknown): VmchartError {
  return new VmchartError('Credentials', message, { reason: 'no-credentials', suggestions, cause });
}

/** Credentials that are given and never change. */
export function staticCredentials(credentials: Credentials): CredentialsProvider {
  const kept = { ...credentials };
  return { resolve: async () => kept };
}

/** What the environment gives; `null` when it names no key pair. */
function fromEnvironment(environment: Environment): Credentials | null {
  const accessKeyId = environment['AWS_ACCESS_KEY_ID'];
  const secretAccessKey = environment['AWS_SECRET_ACCESS_KEY'];
  if (!accessKeyId || !secretAccessKey) return null;
  const sessionToken = environment['AWS_SESSION_TOKEN'];
  const expiresAtMs = Date.parse(environment['AWS_CREDENTIAL_EXPIRATION'] ?? '');
  return {
    accessKeyId,
    secretAccessKey,
    ...(sessionToken ? { sessionToken } : {}),
    ...(Number.isNaN(expiresAtMs) ? {} : { expiresAtMs }),
  };
}

/** `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`. */
export function environmentCredentials(environment: Environment = process.env): CredentialsProvider {
  return {
    async resolve() {
      const found = fromEnvironment(environment);
      if (found !== null) return found;
      throw missing('The environment has no AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.', [
        'Set both, or choose a profile with AWS_PROFILE.',
      ]);
    },
  };
}

/** Settings of {@link profileCredentials}. */
export interface ProfileOptions {
  /** The profile's name; `AWS_PROFILE`, then `default`. */
  readonly profile?: string;
  readonly environment?: Environment;
}

/**
 * A key pair from the shared profile files: `AWS_SHARED_CREDENTIALS_FILE` or `~/.aws/credentials`, then
 * `AWS_CONFIG_FILE` or `~/.aws/config`. Profiles that take a role or sign on need the default chain.
 */
export function profileCredentials(options: ProfileOptions = {}): CredentialsProvider {
  const environment = options.environment ?? process.env;
  return {
    async resolve() {
      const profile = options.profile ?? (environment['AWS_PROFILE'] || 'default');
      const found = await (await import('./shared-profile.ts')).readProfile(profile, environment);
      if (found.credentials !== null) return found.credentials;
      throw missing(
        found.exists
          ? `Profile ${JSON.stringify(profile)} has no key pair of its own.`
          : `There is no profile ${JSON.stringify(profile)} in the shared files.`,
        ['Check AWS_PROFILE and ~/.aws/credentials.'],
      );
    },
  };
}

/** The part of the optional package that is used here. */
interface ChainModule {
  readonly defaultProvider: (init?: { readonly profile?: string }) => () => Promise<{
    readonly accessKeyId: string;
    readonly secretAccessKey: string;
    readonly sessionToken?: string;
    readonly expiration?: Date;
  }>;
}

const chainPackage = '@aws-sdk/credential-provider-node';

/**
 * Everything that the AWS tools try: environment, profiles with roles and single sign-on, web identity, container
 * and instance roles. It needs the optional package `@aws-sdk/credential-provider-node`, loaded on first use.
 *
 * @param load - stands in for the package in tests
 */
export function chainCredentials(
  options: { readonly profile?: string } = {},
  load: () => Promise<unknown> = () => import(chainPackage),
): CredentialsProvider {
  let chain: ReturnType<ChainModule['defaultProvider']> | undefined;
  return {
    async resolve() {
      chain ??= (await loadChain(load)).defaultProvider(
        options.profile === undefined ? {} : { profile: options.profile },
      );
      try {
        const { accessKeyId, secretAccessKey, sessionToken, expiration } = await chain();
        return {
          accessKeyId,
          secretAccessKey,
          ...(sessionToken === undefined ? {} : { sessionToken }),
          ...(expiration === undefined ? {} : { expiresAtMs: expiration.getTime() }),
        };
      } catch (error) {
        throw missing('The default credential chain found no credentials.', ['Sign in, or set AWS_PROFILE.'], error);
      }
    },
  };
}

async function loadChain(load: () => Promise<unknown>): Promise<ChainModule> {
  try {
    return (await load()) as ChainModule;
  } catch (error) {
    throw missing(
      `No credentials in the environment or the shared files, and the default chain is not installed.`,
      [`npm install ${chainPackage}`, 'Or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.'],
      error,
    );
  }
}

/**
 * The default: a key pair from the environment, else from the shared files, else the default chain.
 * `AWS_PROFILE` puts the profile first, as the AWS tools do.
 */
export function defaultCredentials(
  options: { readonly environment?: Environment; readonly profile?: string; readonly chain?: CredentialsProvider } = {},
): CredentialsProvider {
  const environment = options.environment ?? process.env;
  const chosen = options.profile ?? environment['AWS_PROFILE'];
  const chain = options.chain ?? chainCredentials(chosen ? { profile: chosen } : {});
  return {
    async resolve(signal) {
      const given = options.profile === undefined ? fromEnvironment(environment) : null;
      if (given !== null) return given;
      const { credentials } = await (await import('./shared-profile.ts')).readProfile(chosen || 'default', environment);
      return credentials ?? chain.resolve(signal);
    },
  };
}

/** Settings of {@link cachedCredentials}. */
export interface CacheOptions {
  /** Wall time in Unix milliseconds. */
  readonly wallNow?: () => number;
  /** How long before their end credentials are replaced, in milliseconds. Five minutes by default. */
  readonly refreshBeforeMs?: number;
}

const defaultRefreshBeforeMs = 5 * 60_000;

/**
 * Keeps what a provider answered until shortly before it expires; callers at the same time share one question.
 * A failed question is not kept. When a refresh fails while the old credentials still work, they are used on.
 */
export function cachedCredentials(source: CredentialsProvider, options: CacheOptions = {}): CredentialsProvider {
  const { wallNow = Date.now, refreshBeforeMs = defaultRefreshBeforeMs } = options;
  let kept: Credentials | null = null;
  let asking: Promise<Credentials> | null = null;

  const endsWithin = (credentials: Credentials, ms: number) =>
    credentials.expiresAtMs !== undefined && credentials.expiresAtMs - wallNow() <= ms;

  const ask = async (): Promise<Credentials> => {
    try {
      kept = await source.resolve();
      return kept;
    } catch (error) {
      if (kept !== null && !endsWithin(kept, 0)) return kept;
      kept = null;
      throw error;
    } finally {
      asking = null;
    }
  };

  return {
    async resolve(signal) {
      signal?.throwIfAborted();
      if (kept !== null && !endsWithin(kept, refreshBeforeMs)) return kept;
      // One caller's abort must not end what others wait for, so the shared question takes no signal.
      asking ??= ask();
      return signal === undefined ? asking : raceAbort(asking, signal);
    },
  };
}

/** Settles with the work, or with the signal's reason when that comes first. */
async function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', abort, { once: true });
    work.then(resolve, reject).finally(() => {
      signal.removeEventListener('abort', abort);
    });
  });
}
