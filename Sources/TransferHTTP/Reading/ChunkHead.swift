internal import TransferModel

/// The line before a chunk: `chunk-size [ chunk-ext ]` (RFC 9112, section 7.1).
enum ChunkHead {
    /// Most bytes of the line.
    static let limit = HTTPLimits.chunkDigits + HTTPLimits.chunkExtensions

    /// - Returns: the size of the chunk in bytes; 0 for the last one.
    /// - Throws: 400 for a malformed line.
    static func size(_ line: UnsafeRawBufferPointer) throws(HTTPFault) -> UInt64 {
        let digits = line.prefix { $0 != UInt8(ascii: ";") }
        guard digits.count <= HTTPLimits.chunkDigits, let size = Hexadecimal.number(digits),
            size <= HTTPLimits.length
        else { throw HTTPFault(400, "The size of a chunk is not a hexadecimal number, or is too large.") }
        let extensions = line[digits.endIndex...]
        guard extensions.count <= HTTPLimits.chunkExtensions else { throw tooLong }
        guard areExtensions(extensions) else { throw HTTPFault(400, "A chunk has malformed extensions.") }
        return size
    }

    static let tooLong = HTTPFault(
        400, "The extensions of a chunk have more than \(HTTPLimits.chunkExtensions) bytes.")

    /// Checks that extensions are `*( ";" token [ "=" ( token / quoted-string ) ] )`; they are ignored. Blanks are
    /// refused, because readers disagree about them, although RFC 9112, section 7.1.1, permits them for older clients.
    private static func areExtensions(_ text: Slice<UnsafeRawBufferPointer>) -> Bool {
        var rest = text
        while rest.first == UInt8(ascii: ";") {
            rest = rest.dropFirst()
            guard dropToken(&rest) else { return false }
            guard rest.first == UInt8(ascii: "=") else { continue }
            rest = rest.dropFirst()
            guard rest.first == HTTPCharacter.quote ? dropQuoted(&rest) : dropToken(&rest) else { return false }
        }
        return rest.isEmpty
    }

    private static func dropToken(_ rest: inout Slice<UnsafeRawBufferPointer>) -> Bool {
        let token = rest.prefix { HTTPCharacter.isToken($0) }
        rest = rest[token.endIndex...]
        return !token.isEmpty
    }

    /// Skips a `quoted-string` (RFC 9110, section 5.6.4) at the beginning.
    private static func dropQuoted(_ rest: inout Slice<UnsafeRawBufferPointer>) -> Bool {
        var index = rest.startIndex + 1
        while index < rest.endIndex {
            let byte = rest[index]
            guard HTTPCharacter.isValue(byte) else { return false }
            if byte == HTTPCharacter.quote {
                rest = rest[(index + 1)...]
                return true
            }
            if byte == HTTPCharacter.backslash {
                index += 1
                guard index < rest.endIndex, HTTPCharacter.isValue(rest[index]) else { return false }
            }
            index += 1
        }
        return false
    }
}
