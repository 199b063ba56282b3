/**
 * The small language in which the spec and the composed system are written: integers, truth values and named
 * constants, compared and combined, with look-ups in integer tables.
 *
 * ```text
 * vm_state = PENDING and bootstrap_count = 0
 * if clientCall[client, event] > 0 then calls + 1 else calls
 * ```
 *
 * One text has several readings: it is evaluated here, compiled to JavaScript for the fast explorer, printed as
 * Promela for SPIN and as SMT-LIB for a solver. So the language holds only what all of them can say.
 */
import { ModelError } from './model-error.ts';

/** Operators that take two numbers and answer a truth value. */
export type Comparison = '=' | '!=' | '<' | '<=' | '>' | '>=';

/** Operators that take two numbers and answer a number. */
export type Arithmetic = '+' | '-' | '*';

/** A parsed expression. */
export type Expression =
  | { readonly op: 'int'; readonly value: number }
  | { readonly op: 'bool'; readonly value: boolean }
  /** A variable, constant or parameter; `primed` (`x'`) is its value after the step. */
  | { readonly op: 'name'; readonly name: string; readonly primed: boolean }
  | { readonly op: 'lookup'; readonly table: string; readonly indices: readonly Expression[] }
  | { readonly op: 'not'; readonly of: Expression }
  | { readonly op: 'and' | 'or'; readonly left: Expression; readonly right: Expression }
  | { readonly op: 'compare'; readonly by: Comparison; readonly left: Expression; readonly right: Expression }
  | { readonly op: 'arithmetic'; readonly by: Arithmetic; readonly left: Expression; readonly right: Expression }
  | { readonly op: 'if'; readonly condition: Expression; readonly yes: Expression; readonly no: Expression };

const tokenPattern = /\s*(?:(\d+)|([A-Za-z_][\w.]*'?)|(!=|<=|>=|=>|[-+*=<>()[\]{},]))/y;
const comparisons: readonly string[] = ['=', '!=', '<', '<=', '>', '>='];
const keywords: readonly string[] = ['and', 'or', 'not', 'in', 'if', 'then', 'else', 'true', 'false'];

function tokenize(text: string): string[] {
  const tokens: string[] = [];
  const end = text.trimEnd().length;
  tokenPattern.lastIndex = 0;
  while (tokenPattern.lastIndex < end) {
    const at = tokenPattern.lastIndex;
    const match = tokenPattern.exec(text);
    if (match === null) throw new ModelError('syntax', `cannot read '${text.slice(at).trim()}' in '${text}'`);
    tokens.push(match[0].trim());
  }
  return tokens;
}

/** Recursive descent, one method a precedence level, loosest first. */
class Parser {
  private readonly text: string;
  private readonly tokens: readonly string[];
  private position = 0;

  constructor(text: string) {
    this.text = text;
    this.tokens = tokenize(text);
  }

  parse(): Expression {
    const expression = this.implication();
    if (this.position < this.tokens.length) this.fail(`unexpected '${this.tokens[this.position]}'`);
    return expression;
  }

  private implication(): Expression {
    const left = this.disjunction();
    return this.take('=>') ? { op: 'or', left: { op: 'not', of: left }, right: this.implication() } : left;
  }

  private disjunction(): Expression {
    let left = this.conjunction();
    while (this.take('or')) left = { op: 'or', left, right: this.conjunction() };
    return left;
  }

  private conjunction(): Expression {
    let left = this.negation();
    while (this.take('and')) left = { op: 'and', left, right: this.negation() };
    return left;
  }

  private negation(): Expression {
    return this.take('not') ? { op: 'not', of: this.negation() } : this.comparison();
  }

  private comparison(): Expression {
    const left = this.sum();
    if (this.take('in')) return this.membership(left);
    const by = this.tokens[this.position];
    if (by === undefined || !comparisons.includes(by)) return left;
    this.position += 1;
    return { op: 'compare', by: by as Comparison, left, right: this.sum() };
  }

  /** `x in { A, B }` is short for `x = A or x = B`. */
  private membership(left: Expression): Expression {
    this.expect('{');
    let any: Expression | null = null;
    do {
      const equal: Expression = { op: 'compare', by: '=', left, right: this.sum() };
      any = any === null ? equal : { op: 'or', left: any, right: equal };
    } while (this.take(','));
    this.expect('}');
    return any;
  }

  private sum(): Expression {
    let left = this.product();
    for (;;) {
      if (this.take('+')) left = { op: 'arithmetic', by: '+', left, right: this.product() };
      else if (this.take('-')) left = { op: 'arithmetic', by: '-', left, right: this.product() };
      else return left;
    }
  }

  private product(): Expression {
    let left = this.atom();
    while (this.take('*')) left = { op: 'arithmetic', by: '*', left, right: this.atom() };
    return left;
  }

  private atom(): Expression {
    if (this.take('(')) {
      const inner = this.implication();
      this.expect(')');
      return inner;
    }
    if (this.take('if')) {
      const condition = this.implication();
      this.expect('then');
      const yes = this.implication();
      this.expect('else');
      return { op: 'if', condition, yes, no: this.implication() };
    }
    if (this.take('true')) return { op: 'bool', value: true };
    if (this.take('false')) return { op: 'bool', value: false };
    const token = this.tokens[this.position];
    if (token === undefined) this.fail('it ends too early');
    this.position += 1;
    if (/^\d/.test(token)) return { op: 'int', value: Number(token) };
    if (!/^[A-Za-z_]/.test(token) || keywords.includes(token)) this.fail(`unexpected '${token}'`);
    if (this.take('[')) return this.lookup(token);
    return token.endsWith("'")
      ? { op: 'name', name: token.slice(0, -1), primed: true }
      : { op: 'name', name: token, primed: false };
  }

  private lookup(table: string): Expression {
    const indices: Expression[] = [];
    do indices.push(this.sum());
    while (this.take(','));
    this.expect(']');
    return { op: 'lookup', table, indices };
  }

  private take(token: string): boolean {
    if (this.tokens[this.position] !== token) return false;
    this.position += 1;
    return true;
  }

  private expect(token: string): void {
    if (!this.take(token)) this.fail(`'${token}' expected`);
  }

  private fail(what: string): never {
    throw new ModelError('syntax', `${what}, token ${this.position + 1} of '${this.text}'`);
  }
}

/**
 * Reads one expression.
 *
 * Precedence, loosest first: `=>`, `or`, `and`, `not`, comparison and `in`, `+ -`, `*`.
 *
 * @throws ModelError with reason `syntax`
 */
export function parseExpression(text: string): Expression {
  return new Parser(text).parse();
}

/** Every direct part of an expression. */
export function partsOf(expression: Expression): readonly Expression[] {
  switch (expression.op) {
    case 'int':
    case 'bool':
    case 'name':
      return [];
    case 'lookup':
      return expression.indices;
    case 'not':
      return [expression.of];
    case 'if':
      return [expression.condition, expression.yes, expression.no];
    default:
      return [expression.left, expression.right];
  }
}

/** The names (not the tables) that an expression reads; `x'` and `x` are told apart. */
export function namesIn(expression: Expression): { readonly name: string; readonly primed: boolean }[] {
  if (expression.op === 'name') return [{ name: expression.name, primed: expression.primed }];
  return partsOf(expression).flatMap(namesIn);
}
