/** The key under which an object says how it is printed, by `console.log` among others; the same as `util.inspect.custom`. */
export const printed: unique symbol = Symbol.for('nodejs.util.inspect.custom') as never;
