/// One line of a head or of trailers.
package struct HTTPField: Equatable, Sendable {
    /// The name in lower case. Readers ensure that it is a token (RFC 9110, section 5.6.2). In a head that is to be
    /// sent, it is checked when the head is written.
    package let name: String

    /// The value without blanks around it, as bytes: UTF-8 or any bytes from 0x80 on.
    package let value: [UInt8]

    /// The value as text; nil if it is not UTF-8.
    package var text: String? { String(validating: value, as: UTF8.self) }

    /// - Parameter name: may have upper case letters.
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

    /// Whether the field has this name, ignoring the case of letters.
    func isNamed(_ name: String) -> Bool {
        self.name.utf8.count == name.utf8.count
            && self.name.utf8.elementsEqual(name.utf8) { $0 == HTTPCharacter.lowercase($1) }
    }

    private static func lowercase(_ name: String) -> String {
        guard name.utf8.contains(where: { $0 != HTTPCharacter.lowercase($0) }) else { return name }
        return String(decoding: name.utf8.map(HTTPCharacter.lowercase), as: UTF8.self)
    }
}
