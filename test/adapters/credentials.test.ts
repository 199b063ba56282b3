import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import type { Credentials, CredentialsProvider } from 'vmchart/effects';
import { VmchartError } from 'vmchart/effects';
import {
  cachedCredentials,
  chainCredentials,
  defaultCredentials,
  environmentCredentials,
  manualClock,
  profileCredentials,
  staticCredentials,
} from 'vmchart/adapters';
import { parseProfiles, readProfile } from '../../adapters/shared-profile.ts';
import { errorOf } from '../helpers/error-of.ts';

let folder = '';

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'vmchart-profile-'));
});

afterEach(async () => {
  await rm(folder, { recursive: true });
});

const pair = { accessKeyId: 'AKID', secretAccessKey: 'secret' };
const environmentPair = { AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'secret' };

/** Writes the two shared files and gives the environment that names them. */
async function shared(credentials: string, config = '') {
  await writeFile(join(folder, 'credentials'), credentials);
  await writeFile(join(folder, 'config'), config);
  return { AWS_SHARED_CREDENTIALS_FILE: join(folder, 'credentials'), AWS_CONFIG_FILE: join(folder, 'config') };
}

describe('the environment', () => {
  test('gives a pair, with its session and its end', async () => {
    expect(await environmentCredentials(environmentPair).resolve()).toEqual(pair);
    const session = { ...environmentPair, AWS_SESSION_TOKEN: 'st', AWS_CREDENTIAL_EXPIRATION: '2026-01-01T00:00:00Z' };
    expect(await environmentCredentials(session).resolve()).toEqual({
      ...pair,
      sessionToken: 'st',
      expiresAtMs: Date.UTC(2026, 0, 1),
    });
  });

  test.each([{}, { AWS_ACCESS_KEY_ID: 'AKID' }, { ...environmentPair, AWS_SECRET_ACCESS_KEY: '' }])(
    'half a pair is none: %j',
    async (environment) => {
      const error = await errorOf(environmentCredentials(environment).resolve());
      expect(error).toMatchObject({ kind: 'Credentials', reason: 'no-credentials' });
      expect(error.message + JSON.stringify(error)).not.toContain('AKID"');
    },
  );
});

describe('the shared files', () => {
  test('are read in their dialect', () => {
    const text = [
      '# comment',
      '[default]',
      'aws_access_key_id = A=B ; trailing comment',
      'AWS_SECRET_ACCESS_KEY=s#c/r+t==',
      's3 =',
      '  endpoint_url = nested',
      '[profile "two words"]',
      'region=eu-west-1',
      '[ spaced ]',
      'region = ap-south-1\r',
    ].join('\n');
    expect(Object.fromEntries(parseProfiles(text))).toEqual({
      default: { aws_access_key_id: 'A=B', aws_secret_access_key: 's#c/r+t==', s3: '' },
      'two words': { region: 'eu-west-1' },
      spaced: { region: 'ap-south-1' },
    });
  });

  test('the credentials file wins over the config file, and AWS_PROFILE chooses', async () => {
    const files = await shared(
      '[default]\naws_access_key_id=AKID\naws_secret_access_key=secret\n[ci]\naws_access_key_id=CI\naws_secret_access_key=x\naws_session_token=t\n',
      '[default]\naws_access_key_id=OTHER\naws_secret_access_key=y\n[profile ci]\nregion=eu-west-1\n[profile only]\naws_access_key_id=C\naws_secret_access_key=z\n',
    );
    expect(await profileCredentials({ environment: files }).resolve()).toEqual(pair);
    expect(await profileCredentials({ environment: { ...files, AWS_PROFILE: 'ci' } }).resolve()).toEqual({
      accessKeyId: 'CI',
      secretAccessKey: 'x',
      sessionToken: 't',
    });
    expect(await profileCredentials({ environment: files, profile: 'only' }).resolve()).toMatchObject({
      accessKeyId: 'C',
    });
    expect((await readProfile('ci', files)).region).toBe('eu-west-1');
  });

  test('a profile that is missing and one without a pair are told apart', async () => {
    const files = await shared('', '[profile sso]\nsso_session=x\n');
    expect((await errorOf(profileCredentials({ environment: files, profile: 'nobody' }).resolve())).message).toContain(
      'no profile',
    );
    expect((await errorOf(profileCredentials({ environment: files, profile: 'sso' }).resolve())).message).toContain(
      'no key pair',
    );
  });

  test('files that are missing are empty; one that cannot be read is an error', async () => {
    const nowhere = { AWS_SHARED_CREDENTIALS_FILE: join(folder, 'a'), AWS_CONFIG_FILE: join(folder, 'b') };
    expect(await readProfile('default', nowhere)).toEqual({ exists: false, credentials: null, region: null });
    const directory = { ...nowhere, AWS_SHARED_CREDENTIALS_FILE: folder };
    expect(await errorOf(readProfile('default', directory))).toMatchObject({
      kind: 'Credentials',
      reason: 'unreadable-profile',
    });
  });
});

describe('the default', () => {
  const never: CredentialsProvider = {
    resolve: () => Promise.reject(new VmchartError('Credentials', 'the chain was asked')),
  };

  test('takes the environment first, then the shared files, then the chain', async () => {
    const files = await shared('[default]\naws_access_key_id=FILE\naws_secret_access_key=x\n');
    const both = { ...files, ...environmentPair };
    expect(await defaultCredentials({ environment: both, chain: never }).resolve()).toEqual(pair);
    expect(await defaultCredentials({ environment: files, chain: never }).resolve()).toMatchObject({
      accessKeyId: 'FILE',
    });
    const empty = await shared('');
    await expect(defaultCredentials({ environment: empty, chain: never }).resolve()).rejects.toThrow(
      'the chain was asked',
    );
  });

  test('a profile that is asked for by name goes before the environment', async () => {
    const files = await shared('[ci]\naws_access_key_id=FILE\naws_secret_access_key=x\n');
    const provider = defaultCredentials({ environment: { ...files, ...environmentPair }, profile: 'ci', chain: never });
    expect(await provider.resolve()).toMatchObject({ accessKeyId: 'FILE' });
  });
});

describe('the chain', () => {
  test('is loaded on first use only, and once', async () => {
    let loaded = 0;
    const provider = chainCredentials({ profile: 'ci' }, async () => {
      loaded += 1;
      return {
        defaultProvider: (init: { profile?: string }) => async () => ({
          accessKeyId: init.profile ?? '',
          secretAccessKey: 's',
          expiration: new Date(5_000),
        }),
      };
    });
    expect(loaded).toBe(0);
    expect(await provider.resolve()).toEqual({ accessKeyId: 'ci', secretAccessKey: 's', expiresAtMs: 5_000 });
    await provider.resolve();
    expect(loaded).toBe(1);
  });

  test('that is not installed says what to install', async () => {
    const provider = chainCredentials({}, () => Promise.reject(new Error('Cannot find package')));
    const error = await errorOf(provider.resolve());
    expect(error).toMatchObject({ kind: 'Credentials', retryable: false });
    expect(error.suggestions.join()).toContain('@aws-sdk/credential-provider-node');
  });

  test('that yields nothing is a Credentials error', async () => {
    const provider = chainCredentials({}, async () => ({
      defaultProvider: () => () => Promise.reject(new Error('Could not load credentials from any providers')),
    }));
    expect(await errorOf(provider.resolve())).toMatchObject({ kind: 'Credentials', reason: 'no-credentials' });
  });
});

describe('the cache', () => {
  /** A source that counts, and answers when it is told to. */
  function counting(lifeMs?: number) {
    const clock = manualClock({ wallMs: 1_000_000 });
    let count = 0;
    let failing = false;
    const source: CredentialsProvider = {
      resolve: async () => {
        count += 1;
        await Promise.resolve();
        if (failing) throw new VmchartError('Credentials', `no ${count}`);
        const found: Credentials = { ...pair, accessKeyId: `key-${count}` };
        return lifeMs === undefined ? found : { ...found, expiresAtMs: clock.wallNow() + lifeMs };
      },
    };
    const cached = cachedCredentials(source, { wallNow: () => clock.wallNow() });
    const fail = (yes: boolean) => {
      failing = yes;
    };
    return { cached, clock, fail, asked: () => count };
  }

  test('callers at the same time share one question', async () => {
    const { cached, asked } = counting();
    const found = await Promise.all(Array.from({ length: 8 }, () => cached.resolve()));
    expect(new Set(found.map((one) => one.accessKeyId))).toEqual(new Set(['key-1']));
    await cached.resolve();
    expect(asked()).toBe(1);
  });

  test('what ends is replaced five minutes before', async () => {
    const { cached, clock, asked } = counting(3_600_000);
    await cached.resolve();
    await clock.advance(3_600_000 - 300_001);
    await cached.resolve();
    expect(asked()).toBe(1);
    await clock.advance(1);
    expect((await cached.resolve()).accessKeyId).toBe('key-2');
  });

  test('FC-019 a failed question is not kept', async () => {
    const { cached, fail, asked } = counting();
    fail(true);
    const failures = await Promise.allSettled([cached.resolve(), cached.resolve()]);
    expect(failures.map((one) => one.status)).toEqual(['rejected', 'rejected']);
    expect(asked()).toBe(1);
    fail(false);
    expect((await cached.resolve()).accessKeyId).toBe('key-2');
  });

  test('a refresh that fails leaves what still works, and nothing once it has ended', async () => {
    const { cached, clock, fail } = counting(3_600_000);
    await cached.resolve();
    fail(true);
    await clock.advance(3_600_000 - 60_000);
    expect((await cached.resolve()).accessKeyId).toBe('key-1');
    await clock.advance(60_000);
    await expect(cached.resolve()).rejects.toThrow('no');
  });

  test("one caller's abort does not end the question of the others", async () => {
    const { cached } = counting();
    const stop = new AbortController();
    const [impatient, patient] = [cached.resolve(stop.signal), cached.resolve()];
    stop.abort(new Error('enough'));
    await expect(impatient).rejects.toThrow('enough');
    expect((await patient).accessKeyId).toBe('key-1');
    await expect(cached.resolve(AbortSignal.abort(new Error('late')))).rejects.toThrow('late');
  });
});

test('given credentials are copied, so that nobody changes them from outside', async () => {
  const mine = { ...pair };
  const provider = staticCredentials(mine);
  mine.secretAccessKey = 'changed';
  expect(await provider.resolve()).toEqual(pair);
});
