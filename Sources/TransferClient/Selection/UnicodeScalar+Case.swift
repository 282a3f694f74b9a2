extension Unicode.Scalar {
    /// The lowercase and the uppercase form, each only if it is a single code point.
    var otherCases: [Unicode.Scalar] {
        [properties.lowercaseMapping, properties.uppercaseMapping].compactMap(\.single)
    }

    /// Whether both are the same letter except for its case.
    func isSameLetter(as other: Unicode.Scalar) -> Bool {
        guard self != other else { return true }
        return otherCases.contains { $0 == other || other.otherCases.contains($0) }
    }
}

extension String {
    /// The code point of a text that has exactly one; otherwise nil.
    fileprivate var single: Unicode.Scalar? {
        let scalars = unicodeScalars
        return scalars.count == 1 ? scalars.first : nil
    }
}
