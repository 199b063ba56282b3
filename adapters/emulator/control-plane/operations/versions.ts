/** The operations on versions and builds (`control-plane-api.md` 8.14 to 8.19). */
import { deleteVersion, hasLiveMicrovms } from '../../service/image-lifecycle.ts';
import type { Answer, Call, Operations } from '../call.ts';
import { makeConstraints } from '../constraints.ts';
import { findBuild, findImage, findVersion } from '../find-image.ts';
import { describeBuild, describeVersion, summarizeBuild } from '../image-views.ts';
import { cutPage, queryValue } from '../pages.ts';
import { conflict, invalid } from '../service-error.ts';
import { refuseWhileBusy } from './images.ts';

function getVersion(call: Call): Answer {
  const { image, version } = findVersion(call);
  return { body: describeVersion(image, version) };
}

function listVersions(call: Call): Answer {
  const arn = call.labels[0] ?? '';
  if (call.context.options.unverified.versionsOfMissing === 'empty' && arn.startsWith('arn:')) {
    if (!call.region.images.has(arn)) return { body: { items: [], nextToken: null } };
  }
  const image = findImage(call);
  const page = cutPage(call, image.versions.toReversed(), {
    of: `versions ${image.arn}`,
    keyOf: ({ version }) => version,
  });
  return { body: { items: page.items.map((version) => describeVersion(image, version)), nextToken: page.nextToken } };
}

function updateVersion(call: Call): Answer {
  const constraints = makeConstraints();
  const status = constraints.string(call.body, 'status', { required: true, oneOf: ['ACTIVE', 'INACTIVE'] });
  constraints.check();
  const { image, version } = findVersion(call);
  refuseWhileBusy(image);
  if (version.state !== 'SUCCESSFUL' && status === 'ACTIVE') {
    throw conflict(`MicroVM Image version is in state: ${version.state}`);
  }
  version.status = status === 'ACTIVE' ? 'ACTIVE' : 'INACTIVE';
  version.updatedWall = call.context.clock.wallNow();
  return { body: describeVersion(image, version) };
}

function deleteVersionCall(call: Call): Answer {
  const { context, region } = call;
  if (context.options.unverified.deleteOfMissing === 'ok') {
    const image = region.images.get(call.labels[0] ?? '');
    if (image === undefined || !image.versions.some(({ version }) => version === call.labels[1])) {
      return { body: { imageIdentifier: call.labels[0] ?? '', imageVersion: call.labels[1] ?? '', state: 'DELETING' } };
    }
  }
  const { image, version } = findVersion(call);
  refuseWhileBusy(image);
  if (image.versions.length === 1) throw invalid('This is the last version. Please delete the entire image');
  if (!context.options.unverified.deleteVersionInUse && hasLiveMicrovms(region, image, version)) {
    throw invalid('Cannot delete microvm image version with running microvms.');
  }
  void deleteVersion(context, image, version);
  return { body: { imageIdentifier: image.arn, imageVersion: version.version, state: version.state } };
}

function listBuilds(call: Call): Answer {
  const { image, version } = findVersion(call);
  const wanted = (member: string, value: string) => (queryValue(call, member) ?? value) === value;
  const builds = version.builds.filter(
    (build) =>
      wanted('architecture', 'ARM_64') &&
      wanted('chipset', 'GRAVITON') &&
      wanted('chipsetGeneration', build.chipsetGeneration),
  );
  const page = cutPage(call, builds, {
    of: `builds ${image.arn} ${version.version}`,
    keyOf: ({ buildId }) => buildId,
  });
  return {
    body: { items: page.items.map((build) => summarizeBuild(image, version, build)), nextToken: page.nextToken },
  };
}

function getBuild(call: Call): Answer {
  const { image, version, build } = findBuild(call);
  return { body: describeBuild(image, version, build) };
}

/** The six. */
export const versionOperations: Operations = {
  GetMicrovmImageVersion: getVersion,
  ListMicrovmImageVersions: listVersions,
  UpdateMicrovmImageVersion: updateVersion,
  DeleteMicrovmImageVersion: deleteVersionCall,
  ListMicrovmImageBuilds: listBuilds,
  GetMicrovmImageBuild: getBuild,
};
