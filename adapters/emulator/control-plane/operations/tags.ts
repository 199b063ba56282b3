/** Tags: of images only, never of VMs (`control-plane-api.md` 8.22 to 8.24). */
import type { Image } from '../../service/image.ts';
import type { Answer, Call, Operations } from '../call.ts';
import { makeConstraints } from '../constraints.ts';
import type { Constraints, JsonObject } from '../constraints.ts';
import { refuseForeignArn } from '../find-image.ts';
import { invalid, notFound } from '../service-error.ts';

const tagPattern = {
  regex: /^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$/u,
  shown: '([\\p{L}\\p{Z}\\p{N}_.:/=+\\-@]*)',
};

/** Reads a map of tags and notes what is wrong with it. */
export function readTags(
  constraints: Constraints,
  body: JsonObject,
  member: string,
  required = false,
): Record<string, string> {
  const tags = constraints.object(body, member, { required }) ?? {};
  const read: Record<string, string> = {};
  for (const name of Object.keys(tags)) {
    constraints.string({ name }, 'name', { min: 1, max: 128, pattern: tagPattern, path: `${member}.key` });
    const value = constraints.string(tags, name, { max: 256, pattern: tagPattern, path: `${member}.${name}` });
    read[name] = value ?? '';
  }
  return read;
}

function findTagged({ region, labels, operation }: Call): Image {
  const arn = labels[0] ?? '';
  if (!/^arn:[a-z0-9-]+:lambda:[a-z0-9-]+:[a-z0-9]+:microvm-image[:/].+$/.test(arn)) {
    throw invalid(`Invalid resource ARN for tagging: ${arn}`);
  }
  refuseForeignArn(arn, region.accountId, operation);
  const image = region.images.get(arn);
  if (image === undefined) throw notFound(`MicroVMImage not found for MicroVMImageID: ${arn}`);
  return image;
}

function tagResource(call: Call): Answer {
  const constraints = makeConstraints();
  const tags = readTags(constraints, call.body, 'Tags', true);
  constraints.check();
  const image = findTagged(call);
  image.tags = { ...image.tags, ...tags };
  return { status: 204, body: null };
}

function untagResource(call: Call): Answer {
  const keys = call.query.get('tagKeys') ?? [];
  if (keys.length === 0) {
    const constraints = makeConstraints();
    constraints.violated('null', 'tagKeys', 'Member must not be null');
    constraints.check();
  }
  const image = findTagged(call);
  image.tags = Object.fromEntries(Object.entries(image.tags).filter(([name]) => !keys.includes(name)));
  return { status: 204, body: null };
}

function listTags(call: Call): Answer {
  return { body: { Tags: findTagged(call).tags } };
}

/** The three. */
export const tagOperations: Operations = {
  TagResource: tagResource,
  UntagResource: untagResource,
  ListTags: listTags,
};
