/// What kind of content it is: `type/subtype` and parameters (RFC 9110, section 8.3.1).
package struct MediaType: Equatable, Sendable {
    /// Parameters of one type. Those that are in use have one or two.
    package static let mostParameters = 16

    package struct Parameter: Equatable, Sendable {
        /// With small letters.
        package let name: String
        /// ASCII, without quotes and escapes; the case is as it came.
        package let value: String
    }

    /// With small letters.
    package let type: String
    /// With small letters.
    package let subtype: String
    package let parameters: [Parameter]

    /// `type/subtype`.
    package var essence: String { "\(type)/\(subtype)" }

    package subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// - Returns: nothing when it is malformed, has a parameter twice, which readers take differently, or too many.
    package init?(_ value: some Sequence<UInt8>) {
        var reader = FieldReader(value)
        guard let type = reader.token(), reader.take("/"), let subtype = reader.token(),
            let parameters = reader.parameters(most: Self.mostParameters)
        else { return nil }
        var texts: [Parameter] = []
        for (name, value) in parameters {
            guard value.allSatisfy({ $0 < 0x80 }) else { return nil }
            texts.append(Parameter(name: name, value: String(decoding: value, as: UTF8.self)))
        }
        self.type = FieldSyntax.lowercased(type)
        self.subtype = FieldSyntax.lowercased(subtype)
        self.parameters = texts
    }
}

extension FieldReader {
    /// `; name=value` as often as it comes, up to the end (RFC 9110, section 5.6.6); values without quotes and escapes.
    ///
    /// - Returns: nothing when there is something else, a name twice, or more than `most`.
    mutating func parameters(most: Int) -> [(name: String, value: [UInt8])]? {
        var parameters: [(name: String, value: [UInt8])] = []
        while true {
            skipBlanks()
            if isAtEnd { return parameters }
            guard take(";") else { return nil }
            skipBlanks()
            // The grammar has empty ones.
            if isAtEnd || rest.first == UInt8(ascii: ";") { continue }
            guard parameters.count < most, let name = token().map({ FieldSyntax.lowercased($0) }), take("="),
                let value = tokenOrQuotedString(), !parameters.contains(where: { $0.name == name })
            else { return nil }
            parameters.append((name, value))
        }
    }
}
