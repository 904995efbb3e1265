use serde_json::value::RawValue;
use std::collections::BTreeMap;

/// Digits that a number can have and still be the same after having been a 64-bit float.
const EXACT_DIGITS: usize = 15;

/// JSON in one form: no white space, keys in order, strings and numbers in their shortest form (after RFC 8785).
///
/// Other than there, keys are in the order of their bytes in UTF-8, and integers and numbers of more digits than a float
/// holds stay as they are written. Of a key that comes twice the last counts. Nothing for what is no JSON, or nested more
/// than 127 deep.
pub(super) fn canonical(text: &str) -> Option<String> {
    let raw: &RawValue = serde_json::from_str(text.trim_start_matches('\u{FEFF}')).ok()?;
    let mut out = String::with_capacity(text.len());
    write(raw.get(), &mut out)?;
    Some(out)
}

fn write(raw: &str, out: &mut String) -> Option<()> {
    match raw.as_bytes().first()? {
        b'{' => {
            let members: BTreeMap<String, &RawValue> = serde_json::from_str(raw).ok()?;
            let mut before = '{';
            for (key, value) in &members {
                out.push(before);
                out.push_str(&serde_json::to_string(key).ok()?);
                out.push(':');
                write(value.get(), out)?;
                before = ',';
            }
            out.push_str(if members.is_empty() { "{}" } else { "}" });
        }
        b'[' => {
            let items: Vec<&RawValue> = serde_json::from_str(raw).ok()?;
            let mut before = '[';
            for value in &items {
                out.push(before);
                write(value.get(), out)?;
                before = ',';
            }
            out.push_str(if items.is_empty() { "[]" } else { "]" });
        }
        b'"' => {
            let string: String = serde_json::from_str(raw).ok()?;
            out.push_str(&serde_json::to_string(&string).ok()?);
        }
        b'-' | b'0'..=b'9' => out.push_str(&number(raw)),
        _ => out.push_str(raw),
    }
    Some(())
}

/// A number in its shortest form, if a float holds it.
fn number(raw: &str) -> String {
    let digits = raw.split(['e', 'E']).next().map_or(0, |part| part.bytes().filter(u8::is_ascii_digit).count());
    let is_integer = !raw.contains(['.', 'e', 'E']);
    if is_integer {
        return if raw == "-0" { "0".to_owned() } else { raw.to_owned() };
    }
    match raw.parse::<f64>() {
        Ok(value) if value.is_finite() && digits <= EXACT_DIGITS => {
            // Whole numbers are written like the integers that they equal.
            if value.fract() == 0.0 && value.abs() < 1e15 { format!("{}", value + 0.0) } else { format!("{value:?}") }
        }
        _ => raw.to_ascii_lowercase(),
    }
}

/// Canonical JSON with a line for each value, for comparing by eye.
pub(crate) fn in_lines(canonical: &str) -> String {
    let (mut out, mut depth, mut in_string, mut escaped) =
        (String::with_capacity(canonical.len() * 2), 0_usize, false, false);
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        (0..depth).for_each(|_| out.push_str("  "));
    };
    for c in canonical.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = c == '\\' && !escaped;
            out.push(c);
            continue;
        }
        in_string = c == '"';
        if matches!(c, '}' | ']') {
            depth = depth.saturating_sub(1);
            line(&mut out, depth);
        }
        out.push(c);
        if matches!(c, '{' | '[' | ',') {
            depth += usize::from(c != ',');
            line(&mut out, depth);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(canonical(text).as_deref(), Some(expected));
        assert_eq!(canonical(expected).as_deref(), Some(expected));
    }

    #[test]
    fn one_value_has_one_form() {
        check(" { \"b\" : [ 1 , 2.50 , -0.0 ] ,\n \"a\\u0062\" : \"\\u00e9\\/\" } ", "{\"ab\":\"é/\",\"b\":[1,2.5,0]}");
        check("[1.0, 1e2, 1E-7, 0.1]", "[1,100,1e-7,0.1]");
        check("{}", "{}");
        check("[[], {}, null, true]", "[[],{},null,true]");
        check("{\"a\":1,\"a\":2}", "{\"a\":2}");
    }

    #[test]
    fn big_numbers_are_kept() {
        check("[12345678901234567890123, 0.12345678901234567890]", "[12345678901234567890123,0.12345678901234567890]");
        check("1E400", "1e400");
    }

    #[test]
    fn what_is_no_json_is_none() {
        for text in ["", "{", "[1,]", "nul", "1 2", "{\"a\":1}x", "NaN"] {
            assert_eq!(canonical(text), None, "{text}");
        }
        assert_eq!(canonical(&"[".repeat(100_000)), None);
        assert!(canonical(&format!("{}{}", "[".repeat(100), "]".repeat(100))).is_some());
    }

    #[test]
    fn lines_are_for_the_eye() {
        assert_eq!(in_lines("{\"a\":[1,\"x,\\\"{\"]}"), "{\n  \"a\":[\n    1,\n    \"x,\\\"{\"\n  ]\n}");
    }
}
