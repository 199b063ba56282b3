import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { ControlPlane } from 'vmchart/effects';
import { awsPorts } from 'vmchart/adapters';
import type { AwsPortsOptions } from 'vmchart/adapters';

const ports = (environment: Record<string, string>, options: AwsPortsOptions = {}) =>
  awsPorts({ environment, ...options });

describe('where the control plane is', () => {
  test.each<[string, Record<string, string>, AwsPortsOptions, string, string]>([
    ['nothing said', {}, {}, 'us-east-1', 'https://lambda.us-east-1.amazonaws.com'],
    [
      'AWS_DEFAULT_REGION',
      { AWS_DEFAULT_REGION: 'us-west-2' },
      {},
      'us-west-2',
      'https://lambda.us-west-2.amazonaws.com',
    ],
    [
      'AWS_REGION before it',
      { AWS_DEFAULT_REGION: 'us-west-2', AWS_REGION: 'eu-west-1' },
      {},
      'eu-west-1',
      'https://lambda.eu-west-1.amazonaws.com',
    ],
    [
      'an option before both',
      { AWS_REGION: 'eu-west-1' },
      { region: 'us-east-2' },
      'us-east-2',
      'https://lambda.us-east-2.amazonaws.com',
    ],
    ['AWS_ENDPOINT_URL', { AWS_ENDPOINT_URL: 'http://127.0.0.1:1' }, {}, 'us-east-1', 'http://127.0.0.1:1'],
    [
      "the service's own endpoint before it",
      { AWS_ENDPOINT_URL: 'http://127.0.0.1:1', AWS_ENDPOINT_URL_LAMBDA_MICROVMS: 'http://127.0.0.1:2' },
      {},
      'us-east-1',
      'http://127.0.0.1:2',
    ],
    [
      'an option before both',
      { AWS_ENDPOINT_URL_LAMBDA_MICROVMS: 'http://127.0.0.1:2' },
      { endpointUrl: 'http://127.0.0.1:3' },
      'us-east-1',
      'http://127.0.0.1:3',
    ],
    [
      'configured endpoints switched off',
      { AWS_ENDPOINT_URL_LAMBDA_MICROVMS: 'http://127.0.0.1:2', AWS_IGNORE_CONFIGURED_ENDPOINT_URLS: 'true' },
      {},
      'us-east-1',
      'https://lambda.us-east-1.amazonaws.com',
    ],
    [
      'an unlisted region, allowed',
      {},
      { region: 'mx-central-1', unlistedRegion: true },
      'mx-central-1',
      'https://lambda.mx-central-1.amazonaws.com',
    ],
    [
      'an unlisted region at a custom endpoint',
      {},
      { region: 'local-1', endpointUrl: 'http://127.0.0.1:3' },
      'local-1',
      'http://127.0.0.1:3',
    ],
    [
      'FIPS and dual stack',
      { AWS_USE_FIPS_ENDPOINT: 'true', AWS_USE_DUALSTACK_ENDPOINT: 'true' },
      {},
      'us-east-1',
      'https://lambda-fips.us-east-1.api.aws',
    ],
    [
      'China',
      {},
      { region: 'cn-north-1', unlistedRegion: true },
      'cn-north-1',
      'https://lambda.cn-north-1.amazonaws.com.cn',
    ],
    [
      'the European partition',
      {},
      { region: 'eusc-de-east-1', unlistedRegion: true },
      'eusc-de-east-1',
      'https://lambda.eusc-de-east-1.amazonaws.eu',
    ],
  ])('%s', (_what, environment, options, region, endpointUrl) => {
    expect(ports(environment, options)).toMatchObject({ region, endpointUrl });
  });

  test('FC-112 an unlisted region is refused, and once allowed it stays allowed', () => {
    expect(() => ports({ AWS_REGION: 'mars-1' })).toThrow(
      expect.objectContaining({ kind: 'InvalidArg', reason: 'unsupported-region' }),
    );
    expect(new ControlPlane(ports({}, { region: 'mars-1', unlistedRegion: true })).region).toBe('mars-1');
  });

  test.each(['127.0.0.1:9100', 'ftp://host/', 'http://user:marker@host/', 'http://host/?a=b', ''])(
    '%j is no address',
    (endpointUrl) => {
      expect(() => ports({}, { endpointUrl })).toThrow(
        expect.objectContaining({ kind: 'InvalidArg', reason: 'invalid-endpoint' }),
      );
      expect(() => ports({}, { endpointUrl })).not.toThrow(/marker/);
    },
  );
});

describe('whose calls they are', () => {
  test('a pair, a provider, or the environment', async () => {
    const pair = { accessKeyId: 'A', secretAccessKey: 'S' };
    expect(await ports({}, { credentials: pair }).credentials.resolve()).toEqual(pair);
    expect(await ports({}, { credentials: { resolve: async () => pair } }).credentials.resolve()).toEqual(pair);
    const environment = { AWS_ACCESS_KEY_ID: 'E', AWS_SECRET_ACCESS_KEY: 'S' };
    expect(await ports(environment).credentials.resolve()).toMatchObject({ accessKeyId: 'E' });
  });

  test('nothing is asked before the first call', async () => {
    let asked = 0;
    const credentials = { resolve: () => Promise.reject(new Error(`asked ${(asked += 1)} times`)) };
    const made = ports({}, { credentials });
    expect(asked).toBe(0);
    await expect(made.credentials.resolve()).rejects.toThrow('asked 1 times');
  });
});

/** The imports that a module runs when it is loaded, followed through the house's own files. */
function eagerPackages(entry: URL, seen = new Set<string>()): Set<string> {
  const packages = new Set<string>();
  if (seen.has(entry.href)) return packages;
  seen.add(entry.href);
  const source = readFileSync(entry, 'utf8');
  for (const [, clause = '', specifier = ''] of source.matchAll(
    /^(?:import|export)\s+([^;]*?\s+from\s+)?'([^']+)';/gm,
  )) {
    if (clause.startsWith('type ')) continue;
    if (specifier.startsWith('.')) {
      for (const found of eagerPackages(new URL(specifier, entry), seen)) packages.add(found);
    } else if (!specifier.startsWith('node:')) {
      packages.add(specifier);
    }
  }
  return packages;
}

test('importing the real ports loads no HTTP, no signing, no decoding and no credential chain', () => {
  const here = new URL('../../', import.meta.url);
  for (const entry of ['adapters/aws-ports.ts', 'effects/control-plane/control-plane.ts']) {
    const packages = eagerPackages(new URL(entry, here));
    for (const heavy of [
      'got',
      'zod',
      '@aws-sdk/signature-v4',
      '@aws-sdk/credential-provider-node',
      'https-proxy-agent',
    ]) {
      expect([...packages]).not.toContain(heavy);
    }
  }
  // The search itself is sound: it finds a package where one is imported.
  expect([...eagerPackages(new URL('effects/control-plane/schemas.ts', here))]).toContain('zod');
});
