import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from '@jest/globals';
import * as fc from 'fast-check';
import { VmchartError, isDefinite, mintClientToken, runHookPayload, runHookPayloadCeiling } from 'vmchart/effects';
import { ControlPlane } from 'vmchart/effects';
import { awsPorts, manualClock, seededEntropy } from 'vmchart/adapters';
import { classifyRefusal, retryAfterMs } from '../../effects/control-plane/classify.ts';
import { epochMs } from '../../effects/control-plane/decode.ts';
import { encodeLabel, encodeQuery, stableJson, utf8Length } from '../../effects/control-plane/encode.ts';
import { latestById } from '../../effects/control-plane/pages.ts';
import { backoffMs, standardRetry } from '../../effects/control-plane/retry.ts';

const seed = Number(process.env['FC_SEED'] ?? 20_261_014);
const options = { seed, numRuns: 300 };

/** Any well-formed text, reserved characters included. */
const text = fc.string({ unit: 'grapheme', maxLength: 40 });

describe('what becomes part of a URL', () => {
  test('a label holds only unreserved characters and reads back as it was', () => {
    fc.assert(
      fc.property(text, (label) => {
        const encoded = encodeLabel(label);
        expect(encoded).toMatch(/^([A-Za-z0-9\-._~]|%[0-9A-F]{2})*$/);
        expect(decodeURIComponent(encoded)).toBe(label);
      }),
      options,
    );
  });

  test('a query is sorted and reads back as it was', () => {
    const query = fc.dictionary(fc.string({ minLength: 1, maxLength: 8 }), text, { noNullPrototype: true });
    fc.assert(
      fc.property(query, (members) => {
        const encoded = encodeQuery(members);
        const pairs = [...new URLSearchParams(encoded)];
        expect(Object.fromEntries(pairs)).toEqual(members);
        expect(pairs.map(([name]) => name)).toEqual(Object.keys(members).sort());
      }),
      options,
    );
  });
});

describe('bodies', () => {
  test('the order in which members were written leaves no trace', () => {
    fc.assert(
      fc.property(fc.dictionary(text, fc.jsonValue({ maxDepth: 3 })), fc.nat(), (value, turn) => {
        const entries = Object.entries(value);
        const turned = Object.fromEntries([...entries.slice(turn % (entries.length + 1)), ...entries]);
        expect(stableJson(turned)).toBe(stableJson(value));
      }),
      options,
    );
  });

  test('a payload passes exactly when its bytes fit, and reads back as it was', () => {
    const launchEnv = fc.dictionary(
      fc.string({ minLength: 1, maxLength: 20 }),
      fc.string({ unit: 'grapheme', maxLength: 900 }),
      { maxKeys: 8 },
    );
    fc.assert(
      fc.property(text, launchEnv, (agentToken, env) => {
        const size = utf8Length(
          JSON.stringify({ agent_token: agentToken, ...(Object.keys(env).length > 0 ? { env } : {}) }),
        );
        let payload: string | null = null;
        try {
          payload = runHookPayload({ agentToken, launchEnv: env });
        } catch (error) {
          expect(error).toMatchObject({ kind: 'InvalidArg', message: expect.stringContaining(`${size} bytes`) });
        }
        expect(payload !== null).toBe(size <= runHookPayloadCeiling);
        if (payload === null) return;
        expect(utf8Length(payload)).toBe(size);
        expect(JSON.parse(payload)).toEqual({
          agent_token: agentToken,
          ...(Object.keys(env).length > 0 ? { env } : {}),
        });
      }),
      options,
    );
  });

  test('a client token is at most 88 bytes and ends with a nonce of its own', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 200 }), fc.integer(), (scope, entropySeed) => {
        const entropy = seededEntropy(entropySeed);
        const [one, other] = [mintClientToken('create', scope, entropy), mintClientToken('create', scope, entropy)];
        expect(utf8Length(one)).toBeLessThanOrEqual(88);
        expect(one).not.toBe(other);
        const label = one.slice('create-'.length, -17);
        expect(scope.endsWith(label)).toBe(true);
        expect(label).not.toMatch(/[\uD800-\uDFFF]/u);
      }),
      options,
    );
  });
});

describe('answers', () => {
  const headers = fc.record(
    {
      'x-amzn-errortype': fc.oneof(fc.string(), fc.constantFrom('ThrottlingException', 'a#ConflictException:http://x')),
      'retry-after': fc.oneof(fc.string(), fc.nat().map(String)),
    },
    { requiredKeys: [] },
  );
  const body = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.jsonValue().map((value) => Buffer.from(JSON.stringify(value))),
    fc
      .record({ message: fc.jsonValue(), __type: fc.jsonValue(), code: fc.jsonValue() }, { requiredKeys: [] })
      .map((value) => Buffer.from(JSON.stringify(value))),
  );

  test('no refusal, however strange, is anything but one of our errors, told apart by kind and reason', () => {
    fc.assert(
      fc.property(fc.integer({ min: 100, max: 599 }), headers, body, (status, sent, bytes) => {
        const context = { operation: 'GetMicrovm', wallNowMs: 0 };
        const error = classifyRefusal({ status, headers: { ...sent } as Record<string, string>, body: bytes }, context);
        expect(error).toBeInstanceOf(VmchartError);
        expect(error.wireKind).toBeNull();
        expect(error.reason).not.toBeNull();
        expect(error.message).toContain('GetMicrovm');
        if (status >= 500 && error.kind !== 'Retryable') expect(['quota', 'bad-signature']).toContain(error.reason);
        expect(isDefinite(error)).toBe(status >= 400 && status < 500 && status !== 408);
        expect(error.retryAfterMs === null || error.retryAfterMs >= 0).toBe(true);
      }),
      options,
    );
  });

  test('a Retry-After is a time or nothing', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.double().map(String)), (value) => {
        const asked = retryAfterMs({ 'retry-after': value }, 0);
        expect(asked === null || (asked >= 0 && Number.isFinite(asked))).toBe(true);
      }),
      options,
    );
  });

  test('FC-116 a timestamp is a representable moment or nothing', () => {
    fc.assert(
      fc.property(fc.oneof(fc.anything(), fc.double(), fc.string()), (value) => {
        const ms = epochMs(value);
        expect(ms === null || !Number.isNaN(new Date(ms).getTime())).toBe(true);
        if (ms !== null) expect(ms).toBeGreaterThanOrEqual(0);
      }),
      options,
    );
  });

  test('FC-109 every VM is listed once, in its first place, with its last reading', () => {
    const readings = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c', 'd'), fc.nat()));
    fc.assert(
      fc.property(readings, (all) => {
        const merged = latestById(all, ([id]) => id);
        const ids = [...new Set(all.map(([id]) => id))];
        expect(merged.map(([id]) => id)).toEqual(ids);
        for (const [id, reading] of merged) expect(reading).toBe(all.findLast(([other]) => other === id)?.[1]);
      }),
      options,
    );
  });
});

test('a delay before a retry lies between one and two times its base, which doubles and is capped', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fc.integer(), (retry, entropySeed) => {
      const base = Math.min(20_000, 200 * 2 ** (retry - 1));
      const delay = backoffMs(retry, standardRetry, seededEntropy(entropySeed));
      expect(delay).toBeGreaterThanOrEqual(base);
      expect(delay).toBeLessThan(2 * base);
    }),
    options,
  );
});

test('FC-104 FC-106 whatever stands in a label or a filter reaches a server as it was', async () => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(request.url ?? '');
    response.end('{"items":[],"nextToken":null}');
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const ports = awsPorts({
    endpointUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    credentials: { accessKeyId: 'a', secretAccessKey: 'b' },
    clock: manualClock(),
    environment: {},
  });
  try {
    const plane = new ControlPlane(ports);
    const label = text.filter((value) => value.length > 0 && value !== '.' && value !== '..');
    await fc.assert(
      fc.asyncProperty(label, text, async (image, filter) => {
        seen.length = 0;
        await plane.listMicrovmImageVersions(image);
        await plane.listMicrovmImages({ nameFilter: filter });
        expect(decodeURIComponent(seen[0]?.split('/')[3] ?? '')).toBe(image);
        expect(new URLSearchParams(seen[1]?.split('?')[1]).get('nameFilter')).toBe(filter);
      }),
      { seed, numRuns: 60 },
    );
  } finally {
    ports.http.close?.();
    server.close();
  }
});
