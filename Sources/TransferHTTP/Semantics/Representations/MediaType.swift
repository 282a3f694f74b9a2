/// A media type: `type/subtype` and parameters (RFC 9110, section 8.3.1).
package struct MediaType: Equatable, Sendable {
    /// Most parameters of one type. In practice there are one or two.
    package static let mostParameters = 16

    package struct Parameter: Equatable, Sendable {
        /// The name in lower case.
        package let name: String
        /// The value in ASCII, without quotes and escapes; its case is preserved.
        package let value: String
    }

    /// The type in lower case.
    package let type: String
    /// The subtype in lower case.
    package let subtype: String
    package let parameters: [Parameter]

    /// Type and subtype, without parameters.
    package var essence: String { "\(type)/\(subtype)" }

    package subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    /// - Returns: nil if the value is malformed, has too many parameters, or has a parameter twice, which readers
    ///   interpret differently.
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
    /// Reads `; name=value` repeatedly up to the end (RFC 9110, section 5.6.6). Values are returned without quotes and
    /// escapes.
    ///
    /// - Returns: nil for any other text, for a name that occurs twice, and for more than `most` parameters.
    mutating func parameters(most: Int) -> [(name: String, value: [UInt8])]? {
        var parameters: [(name: String, value: [UInt8])] = []
        while true {
            skipBlanks()
            if isAtEnd { return parameters }
            guard take(";") else { return nil }
            skipBlanks()
            // The grammar permits empty parameters.
            if isAtEnd || rest.first == UInt8(ascii: ";") { continue }
            guard parameters.count < most, let name = token().map({ FieldSyntax.lowercased($0) }), take("="),
                let value = tokenOrQuotedString(), !parameters.contains(where: { $0.name == name })
            else { return nil }
            parameters.append((name, value))
        }
    }
}
