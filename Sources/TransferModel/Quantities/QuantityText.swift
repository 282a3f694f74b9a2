/// A decimal number and its unit, such as `1.5GiB`, split but not yet converted. Only digits with one point are
/// accepted: signs, exponents and other forms that number parsers accept are refused in flags.
package struct QuantityText: Equatable {
    /// Digits before the point; at least one.
    package let whole: Substring

    /// Digits after the point; empty if there is no point.
    package let fraction: Substring

    /// The text after the number; may be empty.
    package let unit: Substring

    package init(_ text: String) throws(QuantityFault) {
        whole = text.prefix(while: Self.isDigit)
        guard !whole.isEmpty else { throw .malformed }
        let rest = text[whole.endIndex...]
        guard rest.first == "." else {
            fraction = ""
            unit = rest
            return
        }
        fraction = rest.dropFirst().prefix(while: Self.isDigit)
        guard !fraction.isEmpty else { throw .malformed }
        unit = text[fraction.endIndex...]
    }

    private static func isDigit(_ character: Character) -> Bool { character.isASCII && character.isWholeNumber }
}

/// The reason why a text is not a size or a duration.
package enum QuantityFault: Error, Equatable {
    /// Not a number with a known unit.
    case malformed
    /// A number above the largest size or duration.
    case tooLarge
}
