extension Unicode.Scalar {
    /// Its capital and its small letter, as far as each is a single code point.
    var otherCases: [Unicode.Scalar] {
        [properties.lowercaseMapping, properties.uppercaseMapping].compactMap(\.single)
    }

    /// Whether both are the same letter but for their case.
    func isSameLetter(as other: Unicode.Scalar) -> Bool {
        guard self != other else { return true }
        return otherCases.contains { $0 == other || other.otherCases.contains($0) }
    }
}

extension String {
    /// Its code point, if it is one.
    fileprivate var single: Unicode.Scalar? {
        let scalars = unicodeScalars
        return scalars.count == 1 ? scalars.first : nil
    }
}
