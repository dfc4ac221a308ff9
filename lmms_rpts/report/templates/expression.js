// Conditions on named values, read as base/expression.py reads them: tests/fixtures/expressions.json
// has the cases of both. Total, and nothing is evaluated as a script.
report.condition = (() => {
  const mostLetters = 2000, mostLevels = 50;
  // A number, a text, a name, a sign, anything else; between them ASCII white space.
  const token = /(-?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?![\w.])|("[^"]*"|'[^']*')|([A-Za-z_][\w.]*)|([<>=!]=|[<>()])|[^ \t\n\r\f\v]/g;
  const signs = {
    "<": (a, b) => a < b, "<=": (a, b) => a <= b, ">": (a, b) => a > b, ">=": (a, b) => a >= b, "==": (a, b) => a === b,
  };
  const words = ["and", "or", "not", "contains"];
  const short = (text, most = 40) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

  function compare(a, sign, b) {
    if (![a, b].every((each) => ["number", "string", "boolean"].includes(typeof each))) return false; // missing
    const texts = [a, b].map((each) => typeof each === "string");
    if (sign === "contains") return texts[0] && texts[1] && a.toLowerCase().includes(b.toLowerCase());
    if (texts[0] !== texts[1]) return sign === "!=";
    const [one, other] = texts[0] ? [a, b] : [Number(a), Number(b)];
    return sign === "!=" ? one !== other : signs[sign](one, other);
  }
  // A function of "valueOf", which returns the value of a name; throws an error with a message.
  return (text, names) => {
    if ([...text].length > mostLetters) throw new Error(`The condition is too long: over ${mostLetters} characters`);
    const tokens = Array.from(text.matchAll(token));
    let at = 0;
    const took = (...wanted) => (at < tokens.length && wanted.includes(tokens[at][0]) ? tokens[at++][0] : "");
    function unread() {
      const place = at < tokens.length ? `at “${short(tokens[at][0])}”` : "at its end";
      return new Error(`Cannot read the condition ${place}. Write it as rpts < 0.3 and not (model == "tiny" or judge contains "gpt"). Names: ${names.join(", ")}`);
    }
    function operand() {
      const found = tokens[at], [whole, number, quoted, name] = found || [];
      if (!found || (!number && !quoted && !name) || words.includes(whole)) throw unread();
      at += 1;
      if (number) return () => Number(number);
      if (quoted) return () => quoted.slice(1, -1);
      if (!names.includes(name)) throw new Error(`Unknown name '${short(name)}' in a condition. Names: ${names.join(", ")}. Text needs quotes`);
      return (valueOf) => valueOf(name);
    }
    function single(level) {
      if (level > mostLevels) throw new Error(`The condition is too deep: over ${mostLevels} levels`);
      if (took("not")) { const inner = single(level + 1); return (valueOf) => !inner(valueOf); }
      if (took("(")) {
        const inner = either(level + 1);
        if (!took(")")) throw unread();
        return inner;
      }
      const left = operand(), sign = took(...Object.keys(signs), "!=", "contains");
      if (!sign) throw unread();
      const right = operand();
      return (valueOf) => compare(left(valueOf), sign, right(valueOf));
    }
    function joined(word, part) {
      const parts = [part()];
      while (took(word)) parts.push(part());
      return (valueOf) => (word === "or" ? parts.some((each) => each(valueOf)) : parts.every((each) => each(valueOf)));
    }
    const either = (level) => joined("or", () => joined("and", () => single(level)));
    const whole = either(0);
    if (at < tokens.length) throw unread();
    return whole;
  };
})();
