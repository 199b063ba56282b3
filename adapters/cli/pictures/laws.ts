/** What each requirement says, for people who are refused by one. */
import spec from '../../../model/symspec.json' with { type: 'json' };

/** The sentences of the spec by requirement id. */
export function lawsOfTheSpec(): Readonly<Record<string, string>> {
  return Object.fromEntries(
    [...spec.requirements, ...spec.environment, ...spec.extensions].map(({ id, says }) => [id, says]),
  );
}
