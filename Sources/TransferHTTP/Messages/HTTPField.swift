/// One field line.
package struct HTTPField: Equatable, Sendable {
    /// In lower case. A token (RFC 9110, section 5.6.2) where the field was read; what is written is checked then.
    package let name: String

    /// Without blanks around it, as bytes: it may be UTF-8, or anything from 0x80 on.
    package let value: [UInt8]

    /// The value as text; nothing where it is not UTF-8.
    package var text: String? { String(validating: value, as: UTF8.self) }

    /// - Parameter name: in any case.
    package init(name: String, value: [UInt8]) {
        (self.name, self.value) = (Self.lowercase(name), value)
    }

    /// - Parameters:
    ///   - name: a token that was checked.
    ///   - value: a value that was checked, without blanks around it.
    init(token name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer) {
        self.name = String(unsafeUninitializedCapacity: name.count) { buffer in
            for (index, byte) in name.enumerated() { buffer[index] = HTTPCharacter.lowercase(byte) }
            return name.count
        }
        self.value = Array(value)
    }

    /// Whether the field has that name, in whatever case it is asked for.
    func isNamed(_ name: String) -> Bool {
        self.name.utf8.count == name.utf8.count
            && self.name.utf8.elementsEqual(name.utf8) { $0 == HTTPCharacter.lowercase($1) }
    }

    private static func lowercase(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 != HTTPCharacter.lowercase($0) }) else { return name }
        return String(decoding: name.utf8.map(HTTPCharacter.lowercase), as: UTF8.self)
    }
}
