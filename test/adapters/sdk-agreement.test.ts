import { describe, expect, test } from '@jest/globals';
import * as sdk from '@aws-sdk/client-lambda-microvms';
import { ControlPlane, assembleImage, assembleLaunch } from 'vmchart/effects';
import type { Http, HttpRequest } from 'vmchart/effects';
import { awsPorts, manualClock, seededEntropy, sigV4Signer } from 'vmchart/adapters';
import { imageArn } from '../control-plane/plane-recorder.ts';

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret/KEY+x', sessionToken: 'session//token+==' };
const region = 'us-east-1';

/** One request as it would go out. */
interface Sent {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

/** A body as text; `null` for none. */
function bytesOf(body: unknown): string | null {
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body as Uint8Array | undefined);
  return text === '' ? null : text;
}

/** What our client sends. */
async function ours(call: (plane: ControlPlane) => Promise<unknown>): Promise<Sent> {
  const seen: HttpRequest[] = [];
  const http: Http = {
    send: async (request) => {
      seen.push(request);
      return { status: 400, headers: {}, body: Buffer.from('{"message":"stop here"}') };
    },
    openStream: () => Promise.reject(new Error('unused')),
  };
  const plane = new ControlPlane(
    awsPorts({ http, credentials, region, clock: manualClock(), entropy: seededEntropy(1), environment: {} }),
  );
  await call(plane).catch(() => {});
  const request = seen[0];
  if (request === undefined) throw new Error('nothing was sent');
  const url = new URL(request.url);
  return {
    method: request.method,
    path: url.pathname,
    query: url.search.slice(1),
    headers: request.headers,
    body: typeof request.body === 'string' ? request.body : null,
  };
}

type RequestHandler = NonNullable<sdk.LambdaMicrovmsClientConfig['requestHandler']>;

/** What the official client sends for the same. */
async function theirs(call: (client: sdk.LambdaMicrovmsClient) => Promise<unknown>): Promise<Sent> {
  const seen: Sent[] = [];
  const handler = {
    handle: async (request: {
      method: string;
      path: string;
      query?: Record<string, string | string[]>;
      headers: Record<string, string>;
      body?: unknown;
    }) => {
      const encode = (text: string) =>
        encodeURIComponent(text).replaceAll(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
      seen.push({
        method: request.method,
        path: request.path,
        query: Object.entries(request.query ?? {})
          .flatMap(([name, value]) => [value].flat().map((one) => `${encode(name)}=${encode(one)}`))
          .sort()
          .join('&'),
        headers: request.headers,
        body: bytesOf(request.body),
      });
      throw Object.assign(new Error('stop here'), { name: 'StopHere' });
    },
  };
  const client = new sdk.LambdaMicrovmsClient({
    region,
    credentials,
    maxAttempts: 1,
    requestHandler: handler as unknown as RequestHandler,
  });
  await call(client).catch(() => {});
  const sent = seen[0];
  if (sent === undefined) throw new Error('nothing was sent');
  return sent;
}

const launch = assembleLaunch(
  {
    imageIdentifier: imageArn,
    imageVersion: '1.0',
    egress: true,
    executionRoleArn: 'arn:aws:iam::123456789012:role/vm',
  },
  { region, secrets: { agentToken: 'é'.repeat(8), launchEnv: { A: '"x"' } }, clientToken: 'one-intent' },
).request;
const image = assembleImage(
  {
    name: 'my-img',
    codeArtifactUri: 's3://b/k.zip',
    buildRoleArn: 'arn:aws:iam::123456789012:role/build',
    logGroup: '/g',
    tags: { a: 'b c' },
    environmentVariables: { K: 'v' },
  },
  { region, entropy: seededEntropy(2) },
).request;
const microvmIdentifier = "microvm-a/b(1)!'*~";
const version = { imageIdentifier: imageArn, imageVersion: '1.0' };

const cases: readonly (readonly [
  string,
  (plane: ControlPlane) => Promise<unknown>,
  (client: sdk.LambdaMicrovmsClient) => Promise<unknown>,
])[] = [
  ['RunMicrovm', (p) => p.runMicrovm(launch), (c) => c.send(new sdk.RunMicrovmCommand(mutable(launch)))],
  [
    'GetMicrovm',
    (p) => p.getMicrovm(microvmIdentifier),
    (c) => c.send(new sdk.GetMicrovmCommand({ microvmIdentifier })),
  ],
  ['ListMicrovms', (p) => p.listMicrovms(version), (c) => c.send(new sdk.ListMicrovmsCommand(version))],
  [
    'SuspendMicrovm',
    (p) => p.suspendMicrovm(microvmIdentifier),
    (c) => c.send(new sdk.SuspendMicrovmCommand({ microvmIdentifier })),
  ],
  [
    'ResumeMicrovm',
    (p) => p.resumeMicrovm(microvmIdentifier),
    (c) => c.send(new sdk.ResumeMicrovmCommand({ microvmIdentifier })),
  ],
  [
    'TerminateMicrovm',
    (p) => p.terminateMicrovm(microvmIdentifier),
    (c) => c.send(new sdk.TerminateMicrovmCommand({ microvmIdentifier })),
  ],
  [
    'CreateMicrovmAuthToken',
    (p) => p.createMicrovmAuthToken('m', [9000, { range: { startPort: 1, endPort: 2 } }, { allPorts: {} }], 30),
    (c) =>
      c.send(
        new sdk.CreateMicrovmAuthTokenCommand({
          microvmIdentifier: 'm',
          expirationInMinutes: 30,
          allowedPorts: [{ port: 9000 }, { range: { startPort: 1, endPort: 2 } }, { allPorts: {} }],
        }),
      ),
  ],
  [
    'CreateMicrovmShellAuthToken',
    (p) => p.createMicrovmShellAuthToken('m', 30),
    (c) => c.send(new sdk.CreateMicrovmShellAuthTokenCommand({ microvmIdentifier: 'm', expirationInMinutes: 30 })),
  ],
  [
    'CreateMicrovmImage',
    (p) => p.createMicrovmImage(image),
    (c) => c.send(new sdk.CreateMicrovmImageCommand(mutable(image))),
  ],
  [
    'GetMicrovmImage',
    (p) => p.getMicrovmImage(imageArn),
    (c) => c.send(new sdk.GetMicrovmImageCommand({ imageIdentifier: imageArn })),
  ],
  [
    'ListMicrovmImages',
    (p) => p.listMicrovmImages({ nameFilter: 'a b+c' }),
    (c) => c.send(new sdk.ListMicrovmImagesCommand({ nameFilter: 'a b+c' })),
  ],
  [
    'DeleteMicrovmImage',
    (p) => p.deleteMicrovmImage(imageArn),
    (c) => c.send(new sdk.DeleteMicrovmImageCommand({ imageIdentifier: imageArn })),
  ],
  [
    'ListMicrovmImageVersions',
    (p) => p.listMicrovmImageVersions(imageArn),
    (c) => c.send(new sdk.ListMicrovmImageVersionsCommand({ imageIdentifier: imageArn })),
  ],
  [
    'GetMicrovmImageVersion',
    (p) => p.getMicrovmImageVersion(imageArn, '1.0'),
    (c) => c.send(new sdk.GetMicrovmImageVersionCommand(version)),
  ],
  [
    'UpdateMicrovmImageVersion',
    (p) => p.setMicrovmImageVersionStatus(imageArn, '1.0', 'INACTIVE'),
    (c) => c.send(new sdk.UpdateMicrovmImageVersionCommand({ ...version, status: 'INACTIVE' })),
  ],
  [
    'DeleteMicrovmImageVersion',
    (p) => p.deleteMicrovmImageVersion(imageArn, '1.0'),
    (c) => c.send(new sdk.DeleteMicrovmImageVersionCommand(version)),
  ],
  [
    'ListMicrovmImageBuilds',
    (p) => p.listMicrovmImageBuilds(imageArn, '1.0'),
    (c) => c.send(new sdk.ListMicrovmImageBuildsCommand(version)),
  ],
  [
    'GetMicrovmImageBuild',
    (p) => p.getMicrovmImageBuild(imageArn, '1.0', 'b/1'),
    (c) => c.send(new sdk.GetMicrovmImageBuildCommand({ ...version, buildId: 'b/1' })),
  ],
  [
    'ListManagedMicrovmImages',
    (p) => p.listManagedMicrovmImages(),
    (c) => c.send(new sdk.ListManagedMicrovmImagesCommand({})),
  ],
  [
    'ListManagedMicrovmImageVersions',
    (p) => p.managedBaseVersions(imageArn),
    (c) => c.send(new sdk.ListManagedMicrovmImageVersionsCommand({ imageIdentifier: imageArn })),
  ],
];

/** A deep copy without `readonly`, as the official client's types want it. */
function mutable<T>(value: T): { -readonly [K in keyof T]: Mutable<T[K]> } {
  return JSON.parse(JSON.stringify(value)) as { -readonly [K in keyof T]: Mutable<T[K]> };
}
type Mutable<T> = T extends readonly (infer I)[]
  ? Mutable<I>[]
  : T extends object
    ? { -readonly [K in keyof T]: Mutable<T[K]> }
    : T;

/** The JSON of a body; client tokens that each side made up itself are left out. */
function bodyOf(sent: Sent): unknown {
  if (sent.body === null) return null;
  const body = JSON.parse(sent.body) as Record<string, unknown>;
  if (body['clientToken'] !== 'one-intent') delete body['clientToken'];
  return body;
}

/** Who signed, for where and what was covered. */
function signed(sent: Sent) {
  const [, scope = '', headers = ''] =
    /Credential=([^,]+), SignedHeaders=([^,]+)/.exec(sent.headers['authorization'] ?? '') ?? [];
  return { scope: scope.replace(/\/\d{8}\//, '/<day>/'), headers: headers.split(';') };
}

describe('for the same inputs the official client and ours agree', () => {
  test.each(cases)('%s', async (_operation, call, sdkCall) => {
    const [mine, reference] = [await ours(call), await theirs(sdkCall)];
    expect({ method: mine.method, path: mine.path, query: mine.query }).toEqual({
      method: reference.method,
      path: reference.path,
      query: reference.query,
    });
    expect(bodyOf(mine)).toEqual(bodyOf(reference));

    for (const name of ['host', 'content-type', 'x-amz-security-token']) {
      expect(mine.headers[name]).toBe(reference.headers[name]);
    }
    expect(mine.headers['x-amz-date']).toMatch(/^\d{8}T\d{6}Z$/);
    const covered = ['host', 'x-amz-date', 'x-amz-content-sha256', 'x-amz-security-token', 'content-type'];
    const [own, official] = [signed(mine), signed(reference)];
    expect(own.scope).toBe(official.scope);
    expect(own.headers.filter((name) => covered.includes(name))).toEqual(
      official.headers.filter((name) => covered.includes(name)),
    );
  });

  test.each(cases)('%s: our signer signs their request as they did', async (_operation, _call, sdkCall) => {
    const reference = await theirs(sdkCall);
    const { authorization, ...headers } = reference.headers;
    const [, y = '', mo = '', d = '', h = '', mi = '', s = ''] =
      /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(headers['x-amz-date'] ?? '') ?? [];
    const again = await sigV4Signer().sign(
      {
        method: reference.method,
        url: `https://${headers['host']}${reference.path}${reference.query === '' ? '' : `?${reference.query}`}`,
        headers,
        ...(reference.body === null ? {} : { body: reference.body }),
      },
      { region, credentials, atMs: Date.UTC(+y, +mo - 1, +d, +h, +mi, +s) },
    );
    expect(again['authorization']).toBe(authorization);
  });
});
