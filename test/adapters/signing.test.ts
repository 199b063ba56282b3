import { createHash } from 'node:crypto';
import { describe, expect, test } from '@jest/globals';
import { ControlPlane } from 'vmchart/effects';
import type { Http, HttpRequest } from 'vmchart/effects';
import { awsPorts, manualClock, sigV4Signer } from 'vmchart/adapters';
import { imageArn } from '../control-plane/plane-recorder.ts';

const credentials = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };

/** The signature and what it covers. */
function read(authorization: string | undefined) {
  const [, signed = '', signature = ''] =
    /^AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE\/\d{8}\/[^/]+\/[^/]+\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      authorization ?? '',
    ) ?? [];
  return { signed, signature };
}

describe("AWS's published signing vectors", () => {
  const signer = sigV4Signer({ service: 'service', contentHashHeader: false });
  const atMs = Date.UTC(2015, 7, 30, 12, 36);
  const base = 'https://example.amazonaws.com';
  const unreserved = '-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

  test.each<[string, string, string, Record<string, string>, string | undefined, string, string]>([
    [
      'get-vanilla',
      'GET',
      '/',
      {},
      undefined,
      'host;x-amz-date',
      '5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31',
    ],
    [
      'get-unreserved',
      'GET',
      `/${unreserved}`,
      {},
      undefined,
      'host;x-amz-date',
      '07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f',
    ],
    [
      'get-vanilla-empty-query-key',
      'GET',
      '/?Param1=value1',
      {},
      undefined,
      'host;x-amz-date',
      'a67d582fa61cc504c4bae71f336f98b97f1ea3c7a6bfe1b6e45aec72011b9aeb',
    ],
    [
      'get-vanilla-query-order-key-case',
      'GET',
      '/?Param2=value2&Param1=value1',
      {},
      undefined,
      'host;x-amz-date',
      'b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500',
    ],
    [
      'get-vanilla-query-unreserved',
      'GET',
      `/?${unreserved}=${unreserved}`,
      {},
      undefined,
      'host;x-amz-date',
      '9c3e54bfcdf0b19771a7f523ee5669cdf59bc7cc0884027167c21bb143a40197',
    ],
    [
      'get-vanilla-utf8-query',
      'GET',
      '/?%E1%88%B4=bar',
      {},
      undefined,
      'host;x-amz-date',
      '2cdec8eed098649ff3a119c94853b13c643bcf08f8b0a1d91e12c9027818dd04',
    ],
    [
      'get-header-value-trim',
      'GET',
      '/',
      { 'my-header1': ' value1', 'my-header2': ' "a   b   c"' },
      undefined,
      'host;my-header1;my-header2;x-amz-date',
      'acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736',
    ],
    [
      'post-vanilla',
      'POST',
      '/',
      {},
      undefined,
      'host;x-amz-date',
      '5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b',
    ],
    [
      'post-vanilla-query',
      'POST',
      '/?Param1=value1',
      {},
      undefined,
      'host;x-amz-date',
      '28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11',
    ],
    [
      'post-x-www-form-urlencoded',
      'POST',
      '/',
      { 'content-type': 'application/x-www-form-urlencoded' },
      'Param1=value1',
      'content-type;host;x-amz-date',
      'ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a',
    ],
  ])('%s', async (_name, method, path, headers, body, signed, signature) => {
    const url = base + path;
    const request = { method, url, headers, ...(body === undefined ? {} : { body }) };
    const sent = await signer.sign(request, { region: 'us-east-1', credentials, atMs });
    expect(read(sent['authorization'])).toEqual({ signed, signature });
    expect(sent['x-amz-date']).toBe('20150830T123600Z');
  });

  test('post-sts-header-before: a session token is sent and signed', async () => {
    const sessionToken =
      'AQoDYXdzEPT//////////wEXAMPLEtc764bNrC9SAPBSM22wDOk4x4HIZ8j4FZTwdQWLWsKWHGBuFqwAeMicRXmxfpSPfIeoIYRqTflfKD8YUuwthAx7mSEI/qkPpKPi/kMcGdQrmGdeehM4IC1NtBmUpp2wUE8phUZampKsburEDy0KPkyQDYwT7WZ0wq5VSXDvp75YU9HFvlRd8Tx6q6fE8YQcHNVXAkiY9q6d+xo0rKwT38xVqr7ZD0u0iPPkUL64lIZbqBAz+scqKmlzm8FDrypNC9Yjc8fPOLn9FX9KSYvKTr4rvx3iSIlTJabIQwj2ICCR/oLxBA==';
    const sent = await signer.sign(
      { method: 'POST', url: `${base}/`, headers: {} },
      { region: 'us-east-1', credentials: { ...credentials, sessionToken }, atMs },
    );
    expect(sent['x-amz-security-token']).toBe(sessionToken);
    expect(read(sent['authorization'])).toEqual({
      signed: 'host;x-amz-date;x-amz-security-token',
      signature: '85d96828115b5dc0cfc3bd16ad9e210dd772bbebba041836c64533a82be05ead',
    });
  });
});

describe('what MicroVMs verify', () => {
  const atMs = Date.UTC(2026, 8, 1);
  const base = 'https://lambda.us-east-1.amazonaws.com/2025-09-09';
  const signer = sigV4Signer({ contentHashHeader: false });
  const sign = async (method: string, path: string) =>
    read(
      (await signer.sign({ method, url: base + path, headers: {} }, { region: 'us-east-1', credentials, atMs }))[
        'authorization'
      ],
    );
  const encodedArn = 'arn%3Aaws%3Alambda%3Aus-east-1%3A123456789012%3Amicrovm-image%3Amy-img';

  test.each([
    ['GET', `/microvm-images/${encodedArn}`, '60e6d01508246f57ee1ac5d3a222501e66eb03c0591f5fb8288f105930d01f3f'],
    [
      'GET',
      '/microvms/microvm-a991cd0b-3321-3e2c-a982-d5c4db52b17a',
      '1b359333a89b0bfee8951432be1f7d97b3a0776a75c7b3960f72df5ea46411a6',
    ],
    ['POST', '/microvms/microvm-1/suspend', '834ea034f2e904a108d79e831d763378f69faa29cffa19b77ed240466f44784a'],
  ])('FC-104 signs the wire path encoded once more: %s %s', async (method, path, signature) => {
    expect(await sign(method, path)).toEqual({ signed: 'host;x-amz-date', signature });
  });

  test('FC-106 signs the query as it is sent, the cursor with its padding encoded', async () => {
    const path = `/microvms?imageIdentifier=${encodedArn}&maxResults=50&nextToken=abc-_d%3D%3D`;
    expect(await sign('GET', path)).toEqual({
      signed: 'host;x-amz-date',
      signature: '8e657d7864d667b389c46ceab71f270036de43a61b75fc407d1ae650d2453c6c',
    });
  });

  test('signs the body, its type and its hash, and nothing that a proxy may change', async () => {
    const body = '{"status":"ACTIVE"}';
    const sent = await sigV4Signer().sign(
      {
        method: 'POST',
        url: `${base}/microvms`,
        headers: { accept: 'application/json', 'content-type': 'application/json', 'user-agent': 'x' },
        body,
      },
      { region: 'us-east-1', credentials, atMs },
    );
    expect(sent['x-amz-content-sha256']).toBe(createHash('sha256').update(body).digest('hex'));
    expect(read(sent['authorization']).signed).toBe('content-type;host;x-amz-content-sha256;x-amz-date');
  });

  test('a new identity, a new region and a new day each give a new signature', async () => {
    const own = sigV4Signer();
    const request = { method: 'GET', url: `${base}/microvms/m`, headers: {} };
    const signature = async (change: { region?: string; secretAccessKey?: string; atMs?: number }) =>
      read(
        (
          await own.sign(request, {
            region: change.region ?? 'us-east-1',
            credentials: {
              ...credentials,
              ...(change.secretAccessKey === undefined ? {} : { secretAccessKey: change.secretAccessKey }),
            },
            atMs: change.atMs ?? atMs,
          })
        )['authorization'],
      ).signature;
    const first = await signature({});
    const others = [
      await signature({ region: 'eu-west-1' }),
      await signature({ secretAccessKey: 'another' }),
      await signature({ atMs: atMs + 86_400_000 }),
    ];
    expect(new Set([first, ...others]).size).toBe(4);
    expect(await signature({})).toBe(first);
  });
});

test('FC-104 FC-106 the client sends labels and queries in the form that it signs', async () => {
  const seen: HttpRequest[] = [];
  const http: Http = {
    send: async (request) => {
      seen.push(request);
      return { status: 200, headers: {}, body: Buffer.from('{"items":[],"nextToken":null}') };
    },
    openStream: () => Promise.reject(new Error('unused')),
  };
  const plane = new ControlPlane(awsPorts({ http, credentials, clock: manualClock(), environment: {} }));
  await plane.listMicrovms({ imageIdentifier: imageArn, imageVersion: "a/b(1)!'* ~é" });
  expect(seen[0]?.url).toBe(
    'https://lambda.us-east-1.amazonaws.com/2025-09-09/microvms' +
      '?imageIdentifier=arn%3Aaws%3Alambda%3Aus-east-1%3A123456789012%3Amicrovm-image%3Amy-img' +
      '&imageVersion=a%2Fb%281%29%21%27%2A%20~%C3%A9',
  );
});
